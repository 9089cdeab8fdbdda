"""Option: closed accounting. What every case's traffic must change on the switch is known from what was sent; no other
counter of any port may move, and light traffic between other ports must not notice the case."""
