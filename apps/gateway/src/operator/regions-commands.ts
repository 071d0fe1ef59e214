import { setTimeout } from 'node:timers/promises'
import { EXIT, NotFound } from './line/answer.ts'
import { changing, looking, type OperatorContext, required } from './line/command.ts'
import { counted, fromNow, minute } from './line/said.ts'
import { table } from './line/table.ts'
import { word } from './line/values.ts'
import type { Operated } from './operated.ts'
import { regionsNow } from './regions-now.ts'

const region = required(
  word('<region>'),
  'Its code, as the catalogue has it',
  'Which region? Its code is missing.',
)

/** Regions, and whether anything new is placed there. */
export const regionsCommands = [
  looking({
    noun: 'regions',
    verb: 'list',
    summary: 'Regions, whether customers can deploy there, and how many instances they have',
    arguments: {},
    options: {},
    examples: [['regions list', 'and which of them drain, since when']],
    async run({ clock, columns, config, installation }) {
      const { catalogues, instances } = await installation()
      const drains = new Map((await catalogues.drains()).map(({ regionCode, since }) => [regionCode, since]))
      const rows = []
      for (const { code, name, enabled } of await regionsNow(config(), catalogues)) {
        const all = await instances.desk.list({ regionCode: code })
        rows.push({ code, name, enabled, since: drains.get(code) ?? null, many: all.length })
      }
      const now = clock.now()
      const text = table(
        rows,
        [
          { title: 'REGION', of: row => row.code },
          { title: 'NAME', of: row => row.name },
          { title: 'CATALOGUE', of: row => (row.enabled ? 'open' : 'closed') },
          { title: 'DRAINS', of: row => (row.since === null ? '' : `since ${fromNow(row.since, now)}`) },
          { title: 'INSTANCES', of: row => String(row.many) },
        ],
        columns,
      )
      const data = rows.map(({ since, many, ...row }) => ({
        ...row,
        drains_since: since?.toISOString() ?? null,
        instances: many,
      }))
      return { data, text }
    },
  }),
  changing({
    noun: 'regions',
    verb: 'drain',
    summary: 'Has nothing new placed in a region; what runs there goes on',
    details:
      'Customers are shown it as not available, and neither deploy nor start there; terms that were paid in advance are not ' +
      'renewed. It holds whatever catalogue gateways go by, until regions undrain. What still runs is stopped by instances ' +
      'evacuate.',
    arguments: { region },
    options: {},
    examples: [['regions drain us-west', 'before its engines are taken out of service']],
    plan: (context, given) => planOf(context, given.region, true),
  }),
  changing({
    noun: 'regions',
    verb: 'undrain',
    summary: 'Opens a region again that drains, where the catalogue has it open',
    arguments: { region },
    options: {},
    examples: [['regions undrain us-west', 'customers deploy and start there again']],
    plan: (context, given) => planOf(context, given.region, false),
  }),
]

/** @throws NotFound */
async function planOf({ config, clock, installation }: OperatorContext, code: string, drains: boolean) {
  const { catalogues, instances } = await installation()
  const since = (await catalogues.drains()).find(({ regionCode }) => regionCode === code)?.since
  const named = (await regionsNow(config(), catalogues)).find(one => one.code === code)
  // One that a catalogue had when it began to drain may be gone from it.
  if (!named && since === undefined) throw new NotFound(`There is no region ${code}.`)
  const running = (await instances.desk.list({ regionCode: code })).filter(({ mayRun }) => mayRun)
  const isAlready = drains === (since !== undefined)
  const already = since
    ? `${code} drains since ${minute(since)}, ${fromNow(since, clock.now())}.`
    : `${code} does not drain.`
  const change = drains
    ? [
        `Nothing new is placed in ${code}.`,
        `${counted(running.length, 'instance')} there may run, and ${running.length === 1 ? 'goes' : 'go'} on.`,
      ]
    : [
        named?.enabled
          ? `Customers deploy and start in ${code} again.`
          : `${code} stays closed: the catalogue does not offer it.`,
      ]
  return {
    says: isAlready ? [already] : change,
    data: { region: code, drains },
    target: code,
    async act() {
      await (drains ? catalogues.drain(code) : catalogues.undrain(code))
      const { heard, all } = await hearing(catalogues, code, drains)
      return {
        data: { region: code, drains, gateways: all, heard },
        text: `${drains ? `${code} drains` : `${code} drains no more`}: ${heard} of ${counted(all, 'gateway')} ${
          heard === 1 ? 'goes' : 'go'
        } by it.\n`,
        ...(heard < all && { exit: EXIT.refused }),
      }
    },
  }
}

/** How long gateways that were told have to follow. */
const HEARING_MS = 20_000
const HEARING_LOOK_MS = 200

/** Waits until each gateway that runs has heard of it. */
async function hearing(catalogues: Operated['catalogues'], code: string, drains: boolean) {
  for (let waitedMs = 0; ; waitedMs += HEARING_LOOK_MS) {
    const gateways = await catalogues.gateways()
    const heard = gateways.filter(({ drained }) => drained.includes(code) === drains).length
    if (heard === gateways.length || waitedMs >= HEARING_MS) return { heard, all: gateways.length }
    await setTimeout(HEARING_LOOK_MS)
  }
}
