/** In so many days each turn comes once. */
export const TURN_DAYS = 3
const DAY_MS = 86_400_000
/** Says how much of what is long a run does (`apps/gateway/test/long-runs.ts`); where that is all, it has all turns. */
const LONG_TESTS = 'BERTH_LONG_TESTS'
/** Says which turn a run has, where it is not the day's: 0, 1, 2 or all. Its files are told by it, too. */
const TURN = 'BERTH_TEST_TURN'
/** Files named on the line about what is left to its turn. */
const NAMED_MAX = 6

/**
 * Files that a whole run has on one day of three only: the second and third way to the same end (another engine,
 * launcher, guest or client), what a broken or hostile peer comes to, and walks through pages that stand beside the first
 * one. What guards money, who is who, and the first walk are not among them, and run each time. The three cost about the
 * same; who changes what a file is about runs it by its name.
 */
export const TURNS: readonly (readonly string[])[] = [
  [
    // Docker's machines by the suite of all drivers, and Berth in Docker's containers.
    'apps/gateway/src/drivers/compute/docker/docker-engine.test.ts',
    'apps/gateway/src/drivers/compute/docker/docker-leftovers.test.ts',
    'apps/gateway/src/drivers/compute/docker/docker-errors.test.ts',
    'apps/gateway/src/drivers/compute/docker/docker-ways.test.ts',
    'apps/gateway/src/drivers/compute/docker/egress-guard.test.ts',
    'apps/gateway/src/drivers/compute/docker/ssh-link.test.ts',
    'apps/gateway/src/drivers/compute/docker/terminal-keeper.test.ts',
    'apps/gateway/test/compose-walk.test.ts',
    // Gateways that start and stop under load, and engines that are killed in the midst of an action.
    'apps/gateway/test/faults/kill-engines.test.ts',
    'apps/gateway/test/faults/start-stop.test.ts',
    // Images and ways out of sandboxes; what proxies, clients and servers of others make of it.
    'apps/gateway/src/drivers/compute/oci/hostile-registry.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-images.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-outbound.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-own-images.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-unpack-limits.test.ts',
    'apps/gateway/test/connection-doctor.test.ts',
    'apps/gateway/test/local-model.test.ts',
    'apps/gateway/test/network-volumes.test.ts',
    'apps/gateway/test/reverse-proxies.test.ts',
    'apps/gateway/test/s3-clients.test.ts',
    'apps/gateway/test/s3-outer.test.ts',
    // What follows an instance or its log, and what is told of it elsewhere.
    'apps/gateway/src/domains/instances/follow/follow.test.ts',
    'apps/gateway/src/domains/reach/logs/kept-log.test.ts',
    'apps/gateway/test/traces.test.ts',
    // Models, in a browser.
    'e2e/chat.spec.ts',
    'e2e/making.spec.ts',
    'e2e/models.spec.ts',
  ],
  [
    // On the day that the suite of all drivers looks at a cluster, too (`clusters` of the long runs).
    'apps/gateway/src/drivers/compute/kubernetes/kube-engine.test.ts',
    // Gateways that are killed with -9, under load, or before something is due.
    'apps/gateway/test/faults/kill-film.test.ts',
    'apps/gateway/test/faults/three-gateways.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-recovery.test.ts',
    'apps/gateway/src/drivers/image-store/layout/layout-folder.test.ts',
    // What strangers send, and what another gateway hands on.
    'apps/gateway/src/domains/images/covers/covers.test.ts',
    'apps/gateway/src/domains/reach/ssh/hostile-clients.test.ts',
    'apps/gateway/test/model-hostile.test.ts',
    'apps/gateway/test/creation-bounds.test.ts',
    'apps/gateway/test/model-pictures.test.ts',
    'apps/gateway/test/s3-hop.test.ts',
    // What goes over SSH beside a shell.
    'apps/gateway/test/ssh-clients.test.ts',
    'apps/gateway/test/ssh-ports.test.ts',
    // What all pages have around them, in a browser.
    'e2e/palette.spec.ts',
    'e2e/shell.spec.ts',
  ],
  [
    // What `unshare` makes; each run has what bubblewrap does.
    'apps/gateway/src/drivers/compute/sandbox/unshare-engine.test.ts',
    // Virtual machines; each run has one by a customer's calls.
    'apps/gateway/src/drivers/compute/qemu/data-disk.test.ts',
    'apps/gateway/src/drivers/compute/qemu/linux-guest.test.ts',
    'apps/gateway/src/drivers/compute/qemu/own-images.test.ts',
    'apps/gateway/src/drivers/compute/qemu/qemu-engine.test.ts',
    'apps/gateway/src/drivers/compute/qemu/qemu-kill.test.ts',
    'apps/gateway/test/vm-ssh.test.ts',
    // Several engines at once, and images that are built, broken or kept.
    'apps/gateway/src/drivers/compute/docker/docker-builds.test.ts',
    'apps/gateway/src/drivers/compute/docker/replace-container.test.ts',
    'apps/gateway/src/drivers/compute/docker/two-engines.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-image-faults.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-image-makers.test.ts',
    'apps/gateway/src/drivers/compute/sandbox/sandbox-users.test.ts',
    'apps/gateway/src/drivers/image-store/bucket/layout-bucket.test.ts',
    'apps/gateway/test/dockerfile-images.test.ts',
    'apps/gateway/test/faults/kill-builder.test.ts',
    'apps/gateway/test/own-images.test.ts',
    'apps/gateway/test/three-engines.test.ts',
    // Disks and databases that fail, and backups of older and newer versions.
    'apps/gateway/src/platform/database/embedded/embedded-postgres.test.ts',
    'apps/gateway/test/backup-hostile.test.ts',
    'apps/gateway/test/backup-options.test.ts',
    'apps/gateway/test/backup-whole.test.ts',
    'apps/gateway/test/faults/postgres-down.test.ts',
    'apps/gateway/test/s3-faults.test.ts',
    'apps/gateway/test/s3-hostile.test.ts',
    // Pages beside the first walk, and all of them at seven widths.
    'e2e/brand.spec.ts',
    'e2e/disks.spec.ts',
    'e2e/files.spec.ts',
    'e2e/images.spec.ts',
    'e2e/instances.spec.ts',
    'e2e/logs.spec.ts',
    'e2e/snapshots.spec.ts',
    'e2e/widths.spec.ts',
  ],
]

/** The turn that a day has, 0, 1 or 2: days are those of UTC. */
function turnAt(now: Date): number {
  return Math.floor(now.getTime() / DAY_MS) % TURN_DAYS
}

/** Which turn a run has: all where that is asked for, one that is named, else the day's. */
function turnOf(now: Date): number | 'all' {
  const named = process.env[TURN] ?? ''
  if (named === 'all' || (named === '' && process.env[LONG_TESTS] === 'all')) return 'all'
  if (named === '') return turnAt(now)
  const turn = Number(named)
  if (!(turn in TURNS)) throw new Error(`${TURN} is all, or a turn from 0 to ${TURN_DAYS - 1}`)
  return turn
}

/** The test files that a whole run leaves to their turn: those of the others. */
export function leftToTheirTurn(now: Date): string[] {
  const has = turnOf(now)
  return has === 'all' ? [] : TURNS.flatMap((files, turn) => (turn === has ? [] : files))
}

/** Says to the tests of a whole run which turn it has. */
export function takeTurn(now: Date): void {
  process.env[TURN] = String(turnOf(now))
}

/**
 * Of the many cases of a file, those that have their turn in a whole run: each third. All, where the file runs by its
 * name.
 */
export function thirdOfTurn<T>(cases: readonly T[]): readonly T[] {
  const turn = process.env[TURN] ?? ''
  return turn === '' || turn === 'all' ? cases : cases.filter((_, at) => at % TURN_DAYS === Number(turn))
}

/** Says what was left to its turn, and how it is run; no line where nothing was. */
export function turnLines(left: readonly string[]): string[] {
  if (left.length === 0) return []
  const names = left.slice(0, NAMED_MAX).map(file => file.split('/').at(-1))
  const more = left.length > NAMED_MAX ? ` and ${left.length - NAMED_MAX} more` : ''
  return [
    `Left to their turn, one day of three: ${left.length} test files (${names.join(', ')}${more}). BERTH_TEST_TURN=all npm test has them all; a file by its name is run in any case.`,
  ]
}
