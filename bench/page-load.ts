// From the navigation to a page that answers a key, on a slow processor and a slow link, beside another console.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startChildServer } from './lib/child-server.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { type PageLoad, startVisitor, type Target, type Visitor } from './lib/visitor.ts'

const FIELD = 'input:not([type=hidden], [type=checkbox], [type=search])'
/** The first thing in the first row that can be pressed. */
const ROW_CONTROL = 'main tbody tr :is(a[href], button)'

/** What is measured. A page that the console does not have is left out. */
const PAGES = [
  { path: '/auth', control: FIELD, signedIn: false, peer: 'peer-auth' },
  { path: '/instance-list', control: ROW_CONTROL, signedIn: true, peer: 'peer-instance-list' },
  { path: '/settings', control: `main ${FIELD}`, signedIn: true, peer: 'peer-settings' },
] as const

const ROUNDS = 9
const INSTANCES = 4
const KINDS = ['cold', 'warm'] as const
type Kind = (typeof KINDS)[number]
type Side = 'ours' | 'peer' | 'bare'

const { values } = parseArgs({
  options: {
    /** The other console's origin; each of its pages is a path, which a blank and a selector may follow. */
    peer: { type: 'string' },
    'peer-auth': { type: 'string' },
    'peer-instance-list': { type: 'string' },
    'peer-settings': { type: 'string' },
    rounds: { type: 'string', default: String(ROUNDS) },
    /** The path of the one page to measure; left out, all. */
    page: { type: 'string' },
  },
})

const gateway = await startGatewayProcess()
const bareServer = await startChildServer('bench/bare-page-server.ts', /ready on (\S+)/, {})
const [guest, customer, stranger, passerBy] = await Promise.all([
  startVisitor(),
  startVisitor(),
  startVisitor(),
  startVisitor(),
])
try {
  const ids = await Promise.all(Array.from({ length: INSTANCES }, () => gateway.deploy()))
  for (const id of ids) await gateway.until(id, 'running')
  await customer.store(`${gateway.origin}/favicon.svg`, 'berth.token', gateway.token)
  for (const page of PAGES.filter(({ path }) => consoleHas(path) && path === (values.page ?? path))) {
    const sides: Partial<Record<Side, [Visitor, Target]>> = {
      ours: [page.signedIn ? customer : guest, { url: gateway.origin + page.path, control: page.control }],
      bare: [
        passerBy,
        { url: bareServer.ready[1] ?? '', control: page.control === FIELD ? 'input' : 'button' },
      ],
    }
    const peer = peerTarget(values[page.peer], page.control)
    if (peer) sides.peer = [stranger, peer]
    await comparePage(page.path, sides)
  }
} finally {
  for (const visitor of [guest, customer, stranger, passerBy]) await visitor.close()
  await bareServer.stop()
  await gateway.stop()
}

async function comparePage(path: string, sides: Partial<Record<Side, [Visitor, Target]>>): Promise<void> {
  const loads: Record<Kind, Record<Side, PageLoad[]>> = {
    cold: { ours: [], peer: [], bare: [] },
    warm: { ours: [], peer: [], bare: [] },
  }
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= Number(values.rounds); round++) {
    const entries = Object.entries(sides) as [Side, [Visitor, Target]][]
    // Each round begins with another one, so that no side always follows the same neighbour.
    for (let turn = 0; turn < entries.length; turn++) {
      const entry = entries[(round + turn) % entries.length]
      if (!entry) continue
      const [side, [visitor, target]] = entry
      const cold = await visitor.loadCold(target)
      const warm = await visitor.loadWarm(target)
      if (round === 0) continue
      loads.cold[side].push(cold)
      loads.warm[side].push(warm)
    }
  }
  for (const kind of KINDS) print(`${path}, ${kind}`, loads[kind])
}

function print(what: string, loads: Record<Side, PageLoad[]>): void {
  const usable = (side: Side) => median(loads[side].map(load => load.usableMs))
  const show = (side: Side) => {
    const times = loads[side].map(load => load.usableMs)
    return `${usable(side).toFixed(0)} ms (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}, p75 ${quantile(times, 0.75).toFixed(0)})`
  }
  const hasPeer = loads.peer.length > 0
  const ratio = usable('ours') / usable('peer')
  const more = `${(usable('ours') - usable('bare')).toFixed(0)} ms more than bare`
  printFigure({
    what: `${what}, until usable`,
    ours: show('ours'),
    ...(hasPeer && { peer: show('peer') }),
    bare: show('bare'),
    compared: hasPeer ? `ratio to peer ${ratio.toFixed(2)}, ${more}` : more,
    aim: hasPeer ? { says: 'at most the peer’s', met: ratio <= 1 } : null,
  })
  for (const side of ['ours', 'peer'] as const) {
    if (loads[side].length > 0) console.log(`  ${side}: ${details(loads[side])}`)
  }
}

function details(loads: PageLoad[]): string {
  const of = (key: keyof PageLoad) => median(loads.map(load => load[key]))
  const kb = (key: 'bytes' | 'scriptBytes') => `${(of(key) / 1_000).toFixed(0)} KB`
  return [
    `first paint ${of('firstPaintMs').toFixed(0)} ms`,
    `largest paint ${of('largestPaintMs').toFixed(0)} ms`,
    `control visible ${of('visibleMs').toFixed(0)} ms`,
    `long tasks ${of('longTasksMs').toFixed(0)} ms`,
    `${of('requests')} requests`,
    `${kb('bytes')} of which scripts ${kb('scriptBytes')}`,
  ].join(', ')
}

function peerTarget(given: string | undefined, control: string): Target | null {
  if (values.peer === undefined || given === undefined) return null
  const [path = '', ...selector] = given.split(' ')
  return { url: values.peer + path, control: selector.join(' ') || control }
}

function consoleHas(path: string): boolean {
  const table = readFileSync(new URL('../apps/console/src/app/pages.ts', import.meta.url), 'utf8')
  return table.includes(`path: '${path}'`)
}
