/** What runs costs more by the second: what is shown is never older than this. */
export const REFRESH_MS = 60_000
