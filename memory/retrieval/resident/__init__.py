"""A copy of a namespace in the process that serves it, as current as the database itself.

`rows` holds the memories and finds the head among them, `answers` remembers what small questions
were answered with; both are pure. `store` reads, `namespaces` fills, follows and evicts, and `bank`
answers a retrieval. `scan` compares, here or on a card, where `card_rows` has the vectors too.
"""
