"""A forecasting agent with memory for Prophet Arena: a service, an SDK agent and a poller.

It reaches the memory server only through memlift_client.
"""
