// Whether the gateway in this container can do its work, as its management port says it.
const port = process.env.BERTH_MANAGEMENT_PORT
const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
  ({ ok }) => ok,
  () => false,
)
process.exit(isReady ? 0 : 1)
