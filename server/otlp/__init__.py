"""Results that arrive as OpenTelemetry log records."""
