/**
 * How much the long tests do: little by default, so that `npm test` stays quick, and much where
 * `BERTH_LONG_TESTS` names them, with commas between, or says `all`. `by-turns` makes one of them long, another one
 * each day: for a run at night, since it may take minutes more. A name may say how much, such as `operations:10000`.
 * With `turns`, as CI has it, a third of those that have a `turn` do so much, and others each day.
 */
const TRIES = {
  /** Gateways killed with -9, each followed by a start. */
  kills: { short: 4, turn: 8, long: 50 },
  /**
   * Lives of an instance on an engine of each driver: gateway, helper or machine killed with -9 in its actions. In six each
   * action meets each of them, on demand and paid for in advance.
   */
  engines: { short: 1, long: 6 },
  /** Random requests. */
  requests: { short: 2_500, long: 40_000 },
  /** Random lives of a wallet. */
  books: { short: 10, turn: 25, long: 300 },
  /** Random lives of a customer's payments. */
  payments: { short: 10, turn: 25, long: 300 },
  /** Random lives of customers who are posted together, and of their twins, who are posted one by one. */
  postings: { short: 5, long: 200 },
  /** Operations of two hundred customers on three gateways that are killed. */
  operations: { short: 300, long: 100_000 },
  /** Customers whose billing is reckoned a second time: of six weeks, and where they are more than three of a year. */
  year: { short: 2, long: 8 },
  /** Random lives of calls of models at three gateways that are killed. */
  allowances: { short: 6, turn: 20, long: 300 },
  /** Random lives of an account whose bills are read. */
  bills: { short: 6, long: 150 },
  /** Random lives of an instance that is paid for in advance. */
  terms: { short: 3, long: 150 },
  /** Random lives of a network volume. */
  volumes: { short: 20, long: 300 },
  /** Random lives of a customer's image. */
  images: { short: 5, turn: 12, long: 200 },
  /** Random lives of a customer's pictures and films. */
  creations: { short: 6, long: 150 },
  /** Random lives of a pod that may stay stopped. */
  deletions: { short: 3, long: 100 },
  /** Small objects that are put by S3, and swaps of a folder for a link meanwhile. */
  objects: { short: 200, long: 10_000 },
  /** Objects that are listed by pages. */
  listed: { short: 1_300, long: 100_000 },
  /** Parts of 5 MiB of one object: in a long run 5 GiB. */
  parts: { short: 3, long: 1_024 },
  /** Files that are uploaded to a folder, which gets a thousand in all. */
  uploads: { short: 100, long: 1_000 },
  /** Files of a machine that is removed. */
  files: { short: 3_000, long: 500_000 },
  /** Random lives of an instance whose machine is hostile. */
  lives: { short: 6, long: 100 },
  /** Gateways killed with -9 while they make and start a sandbox. */
  starts: { short: 4, long: 40 },
  /** Gateways killed with -9 while they fetch and unpack an image. */
  unpacks: { short: 1, long: 20 },
  /** Gateways killed with -9 while they make, start, stop or remove a virtual machine or its image. */
  vms: { short: 2, long: 30 },
  /** Virtual machines that are asked for more than a few programs, or boot a whole distribution. */
  guests: { short: 0, long: 1 },
  /** Whether machines in a cluster meet the whole suite of a driver, of some hundred pods; else a walk and faults alone. */
  clusters: { short: 0, turn: 1, long: 1 },
  /** Seconds that the API server of a cluster is away; where it is any, its node is killed and gone for minutes, too. */
  outages: { short: 0, turn: 20, long: 300 },
  /** Whether a node of two in a cluster is taken out of service, for which a second kubelet is started. */
  drains: { short: 0, long: 1 },
  /** Trees of a whole distribution, fetched from its mirror. */
  bootstraps: { short: 0, long: 1 },
} as const

const DAY_MS = 86_400_000
/** With `turns`, each has its turn once in so many days. */
const TURN_DAYS = 3

/**
 * How often a test tries in this run, or how much it makes.
 * @param name The test's, in the table above.
 */
export function triesOf(name: keyof typeof TRIES): number {
  return longOnes().get(name) ?? TRIES[name].short
}

/** How much each of the long ones does in this run, by its name. */
function longOnes(): Map<string, number> {
  const names = Object.keys(TRIES) as (keyof typeof TRIES)[]
  const longOf = (some: readonly (keyof typeof TRIES)[]) =>
    new Map(some.map(name => [name, TRIES[name].long]))
  const wanted = process.env.BERTH_LONG_TESTS ?? ''
  if (wanted === 'all') return longOf(names)
  const day = Math.floor(Date.now() / DAY_MS)
  if (wanted === 'by-turns') return longOf(names.filter((_, at) => at === day % names.length))
  if (wanted === 'turns') return turnsOf(day)
  const chosen = wanted
    .split(',')
    .filter(one => one !== '')
    .map(one => {
      const [, word, count] = /^([a-z]+)(?::([1-9]\d*))?$/.exec(one) ?? []
      const name = names.find(known => known === word)
      if (!name)
        throw new Error(
          `BERTH_LONG_TESTS takes ${names.join(', ')}, each with a colon and a number or without, all, by-turns or turns`,
        )
      return [name, count === undefined ? TRIES[name].long : Number(count)] as const
    })
  return new Map(chosen)
}

/** What those do whose turn is on a day, counted from any first one. */
function turnsOf(day: number): Map<string, number> {
  const turns = Object.entries<{ short: number; turn?: number }>(TRIES).flatMap(([name, { turn }]) =>
    turn === undefined ? [] : [[name, turn] as const],
  )
  return new Map(turns.filter((_, at) => (at + day) % TURN_DAYS === 0))
}
