"""The web beside the model path: pages come from public addresses only, searches go to one configured service."""
