"""The option that keeps more of a run than its records: `run.json`, databases, its page, SONiC's final metrics."""
