/** How many rows may be worked on at once, in all and for one. */
export interface Shares {
  /** But for pulls. */
  rows: number
  /** Of one engine: one that does not answer holds each of its rows for seconds. */
  rowsPerEngine: number
  rowsPerCustomer: number
  /** They are slow and use nothing of ours. */
  pulls: number
  pullsPerCustomer: number
}

/** A row, as far as it matters to whose share it belongs. */
export interface Shared {
  id: string
  userId: string
  engineId: string | null
  isPull: boolean
}

/** What is worked on, by whose share it takes. */
export interface Taken {
  rows: number
  pulls: number
  ofCustomer: ReadonlyMap<string, number>
  ofEngine: ReadonlyMap<string, number>
  pullsOfCustomer: ReadonlyMap<string, number>
}

/** Counts what is worked on. */
export function takenBy(works: Iterable<Shared>): Taken {
  const ofCustomer = new Map<string, number>()
  const ofEngine = new Map<string, number>()
  const pullsOfCustomer = new Map<string, number>()
  let rows = 0
  let pulls = 0
  for (const { userId, engineId, isPull } of works) {
    if (isPull) {
      pulls += 1
      addOne(pullsOfCustomer, userId)
      continue
    }
    rows += 1
    addOne(ofCustomer, userId)
    if (engineId !== null) addOne(ofEngine, engineId)
  }
  return { rows, pulls, ofCustomer, ofEngine, pullsOfCustomer }
}

/** Whose rows need not be looked for, since no more of them may be begun. */
export interface PassedOver {
  userIds: string[]
  engineIds: string[]
  /** Whose rows are passed over where they are to be pulled; `all`: everybody's. */
  pullsOf: string[] | 'all'
}

/** Who has a whole share already. */
export function passedOver(taken: Taken, shares: Shares): PassedOver {
  return {
    userIds: whoHas(taken.ofCustomer, shares.rowsPerCustomer),
    engineIds: whoHas(taken.ofEngine, shares.rowsPerEngine),
    pullsOf: taken.pulls >= shares.pulls ? 'all' : whoHas(taken.pullsOfCustomer, shares.pullsPerCustomer),
  }
}

/** Whether another pull may begin. */
export function mayPull(userId: string, taken: Taken, shares: Shares): boolean {
  return taken.pulls < shares.pulls && (taken.pullsOfCustomer.get(userId) ?? 0) < shares.pullsPerCustomer
}

/**
 * Which of the rows found are begun, in their order: nobody gets more than a share, so that any number of one customer's
 * rows, or of an engine's that hangs, leave room for everybody else's.
 * @param found Those that have waited longest first; none of them is worked on.
 */
export function chooseFairly(found: readonly Shared[], taken: Taken, shares: Shares): string[] {
  const ofCustomer = new Map(taken.ofCustomer)
  const ofEngine = new Map(taken.ofEngine)
  let rows = taken.rows
  const chosen: string[] = []
  for (const { id, userId, engineId, isPull } of found) {
    if (rows >= shares.rows) break
    if ((ofCustomer.get(userId) ?? 0) >= shares.rowsPerCustomer) continue
    if (engineId !== null && (ofEngine.get(engineId) ?? 0) >= shares.rowsPerEngine) continue
    if (isPull && !mayPull(userId, taken, shares)) continue
    // A look at it comes first: until it pulls it is a row like others.
    rows += 1
    addOne(ofCustomer, userId)
    if (engineId !== null) addOne(ofEngine, engineId)
    chosen.push(id)
  }
  return chosen
}

function addOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function whoHas(counts: ReadonlyMap<string, number>, share: number): string[] {
  return [...counts].filter(([, count]) => count >= share).map(([key]) => key)
}
