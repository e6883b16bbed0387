"""Words that say what a program is to do, in whatever program: the rule for those that stand in no table."""

import re
from collections.abc import Sequence

from overt.safety._words import Word

CLOUD = frozenset(
    """aws gcloud az gsutil bq doctl netlify wrangler firebase supabase linode-cli oci ibmcloud cf
        eksctl kops minikube kind k3d nomad waypoint serverless sls amplify cdk sam eb copilot railway render scw
        hcloud civo exo tkn argocd flux istioctl linkerd skaffold s3cmd s5cmd stripe twilio shopify ngrok cloudflared
        tailscale influx mongocli atlas planetscale pscale turso neonctl cockroach databricks snow kafka-topics
        pulumi heroku vercel fly ollama rclone restic http https xh xhs
        rabbitmqctl rabbitmqadmin cqlsh clickhouse-client""".split()
)
"""Programs that act on things elsewhere: judged by their verbs, and they need the network."""

READING = frozenset(
    """list ls show describe get view status info whoami version help history logs log tail diff search head cat du
        inspect print explain validate plan preview listen scan count check lint query dump export render
        read synth""".split()
)
SECRETS = frozenset("token secret secrets password credentials".split())
"""What a reading command of such a program prints when it names one of these."""
DESTROYING = frozenset(
    """delete del destroy remove rm rmi rb rmdir purge prune drop uninstall wipe erase terminate kill unlink shred
        reset nuke truncate flush flushall deregister revoke disable cancel rollback undeploy teardown decommission
        clean-all evict fresh drain overwrite unpublish obliterate cleanup trash discard stop stopall halt
        shutdown poweroff downgrade deallocate unset forget""".split()
)
PUBLISHING = frozenset("publish deploy upload unpublish yank promote".split())
CHANGING = frozenset(
    """create put update modify set apply start run invoke cp mv sync import attach detach associate disassociate add
        scale restart reboot send execute failover restore resize patch replace write register enable assign grant tag
        untag up rotate upgrade authorize copy move migrate publish push change edit call redeploy rsync""".split()
)
"""Said to a program that acts on things elsewhere."""

DESTROYING_OPTIONS = frozenset(
    """--delete --delete-after --delete-all --purge --remove --remove-all --prune --in-place --inplace --overwrite
        --wipe --destroy --drop --erase --clobber --force-delete --hard --nuke --reset-hard --truncate --auto-approve
        """.split()
)


def verbs(words: Sequence[Word]) -> set[str]:
    """`pg:reset`, `delete-stack` and `publishToMavenLocal` hold a verb as well."""
    return {part for word in words for part in (word.text, *VERB_ENDS.split(word.text))}


VERB_ENDS = re.compile(r"[:._-]|(?<=[a-z])(?=[A-Z])")
