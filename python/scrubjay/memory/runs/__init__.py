"""Runs of agents: sessions that write traces, replays that read them."""
