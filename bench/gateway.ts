// Balance calls for each second of a core: the gateway beside a bare Fastify that only verifies the same token.
import { getBalance } from '@berth/contract/billing'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { Pool } from 'undici'
import { cpuSeconds, processTree, startChildServer } from './lib/child-server.ts'
import { median, printFigure } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'

const ROUNDS = 7
const ROUND_MS = 3_000
const CONNECTIONS = 16
const AIM = 0.5

const gateway = await startGatewayProcess()
try {
  await compare(gateway)
} finally {
  await gateway.stop()
}

async function compare({ server, origin, token, call }: GatewayProcess): Promise<void> {
  const bare = await startChildServer('bench/bare-balance-server.ts', /ready on (\S+) with (\S+)/, {
    BENCH_ANSWER: JSON.stringify({ status: 'ok', msg: '', data: await call(getBalance, {}) }),
  })
  const [, bareOrigin = '', bareToken = ''] = bare.ready
  const path = GATEWAY_PREFIX + getBalance.path
  const ours: Measured[] = []
  const floor: Measured[] = []
  const lowFloor: Measured[] = []
  try {
    // The first round of each warms it up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      const one = await measure({ origin, path, token, pid: server.pid })
      const other = await measure({ origin: bareOrigin, path, token: bareToken, pid: bare.pid })
      const low = await measure({ origin: bareOrigin, path: '/remembered', token: bareToken, pid: bare.pid })
      if (round === 0) continue
      ours.push(one)
      floor.push(other)
      lowFloor.push(low)
      console.log(`round ${round}: ours ${show(one)}, bare ${show(other)}, bare that remembers ${show(low)}`)
    }
  } finally {
    await bare.stop()
  }
  const aim = AIM
  report('balance calls per second of a core', { ours, bare: floor, aim, value: one => one.perCpuSecond })
  report('the same, PostgreSQL counted in', { ours, bare: floor, aim, value: one => one.perCpuSecondOfAll })
  // The gateway remembers for some seconds that a token is good, which the aim's floor does not.
  report('beside a bare one that remembers tokens for ever', {
    ours,
    bare: lowFloor,
    aim: null,
    value: one => one.perCpuSecond,
  })
}

interface Report {
  ours: Measured[]
  bare: Measured[]
  aim: number | null
  value(one: Measured): number
}

function report(what: string, { ours, bare, aim, value }: Report): void {
  const ratio = median(ours.map((one, at) => value(one) / value(bare[at] ?? one)))
  printFigure({
    what,
    ours: median(ours.map(value)).toFixed(0),
    bare: median(bare.map(value)).toFixed(0),
    compared: `ratio ${ratio.toFixed(2)}`,
    aim: aim === null ? null : { says: `at least ${aim}`, met: ratio >= aim },
  })
}

interface Measured {
  /** Answers for each second of processor time that the server itself took. */
  perCpuSecond: number
  /** The same with the time of its children, PostgreSQL above all. */
  perCpuSecondOfAll: number
  perSecond: number
}

interface Target {
  origin: string
  path: string
  token: string
  pid: number
}

/** Keeps the server busy for a while and divides the answers by the processor time that it took for them. */
async function measure({ origin, path, token, pid }: Target): Promise<Measured> {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 })
  const request = { method: 'GET' as const, path, headers: { authorization: `Bearer ${token}` } }
  const own = () => cpuSeconds(pid)
  const all = () => processTree(pid).reduce((sum, one) => sum + cpuSeconds(one), 0)
  const [ownBefore, allBefore, startedAt] = [own(), all(), performance.now()]
  let answers = 0
  async function ask(): Promise<void> {
    while (performance.now() - startedAt < ROUND_MS) {
      const { statusCode, body } = await pool.request(request)
      await body.dump()
      if (statusCode !== 200) throw new Error(`${origin} answered ${statusCode}`)
      answers++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, ask))
  const seconds = (performance.now() - startedAt) / 1_000
  const measured = {
    perCpuSecond: answers / (own() - ownBefore),
    perCpuSecondOfAll: answers / (all() - allBefore),
    perSecond: answers / seconds,
  }
  await pool.close()
  return measured
}

function show({ perCpuSecond, perSecond }: Measured): string {
  return `${perCpuSecond.toFixed(0)} (${perSecond.toFixed(0)}/s by the clock)`
}
