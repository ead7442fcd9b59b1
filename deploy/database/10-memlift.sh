#!/usr/bin/env bash
# Runs once, when the database container starts on an empty volume.
set -euo pipefail

secret="${MEMLIFT_PASSWORD_FILE:-/run/secrets/memlift_password}"
password="$(cat "$secret")"
if [ -z "$password" ]; then
  echo "memlift: the secret $secret is empty; run deploy/make-secrets" >&2
  exit 1
fi

MEMLIFT_PASSWORD="$password" psql --no-psqlrc --quiet \
  --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --file="${MEMLIFT_PREPARE:-/deploy/prepare.sql}"
