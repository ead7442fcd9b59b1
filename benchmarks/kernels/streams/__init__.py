"""What follows memory on streams: guards and strengths over one causal replay without a server."""
