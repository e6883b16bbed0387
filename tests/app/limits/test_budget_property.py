"""Whatever prices, replies and agents there are: no server bills more than the limit."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from tests.app.limits.billing import BillingServer, billed_chat, delegates, reads_for_ever
from tests.fakes.model_server import Fault, Recorded, Turn

SEEDS = range(8)
EPSILON = 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_no_random_tree_of_agents_is_billed_more_than_its_limit(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    price = (round(random.uniform(0.1, 5.0), 2), round(random.uniform(0.5, 30.0), 2))
    first = (6_000 * price[0] + 1_500 * price[1]) / 1e6
    cap = round(first * random.uniform(1.0, 8.0), 4)
    agents = random.randint(0, 5)

    def replies(request: Recorded) -> Turn:
        fault = Fault(cut_after=1) if random.random() < 0.1 else Fault()
        reply = reads_for_ever(request) if random.random() < 0.9 else Turn(text="that is all")
        return Turn(text=reply.text, calls=reply.calls, fault=fault, delay=random.uniform(0.0, 0.02))

    script = delegates(agents, replies) if agents else replies
    bill = BillingServer(script, writes=lambda limit: random.choice((limit, min(limit, 150), min(limit, 3_000))))
    bill.price = price

    async def main() -> None:
        async with billed_chat(tmp_path / "w", bill, f"[limits]\nbudget_usd = {cap}") as (conversation, _):
            for _turn in range(3):
                await conversation.prompt("go")
            assert bill.billed <= cap + EPSILON
            assert conversation.limits.caps()[0].reserved == 0
            if not conversation.spend.session.estimated:
                assert conversation.spend.session.cost == pytest.approx(bill.billed)

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(bounded())
    assert bill.limits
