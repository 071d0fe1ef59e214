const NODE_MAJOR_MIN = 20

/**
 * Says on stderr, and sets exit code 1, when this Node is too old to install the project.
 * Written in syntax that old versions parse.
 * @returns {boolean} Whether this Node will do.
 */
export function requireNode() {
  const major = Number(process.versions.node.split('.')[0])
  if (major >= NODE_MAJOR_MIN) return true
  console.error(
    'Berth needs Node.js ' +
      NODE_MAJOR_MIN +
      ' or newer to install itself; this is ' +
      process.version +
      '. Get a newer one from https://nodejs.org, then run the same command again.',
  )
  process.exitCode = 1
  return false
}
