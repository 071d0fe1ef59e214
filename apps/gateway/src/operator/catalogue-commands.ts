import { basename, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { changeLine, type GatewayCatalogue } from '../domains/catalogue/catalogue.ts'
import { type Catalogue, CatalogueError } from '../platform/config/catalogue.ts'
import { type CatalogueChange, diffCatalogues } from '../platform/config/catalogue-diff.ts'
import { changesForRestart } from '../platform/config/catalogue-live.ts'
import type { Config } from '../platform/config/config.ts'
import { EXIT, Refused } from './line/answer.ts'
import { changing, looking, optional } from './line/command.ts'
import { counted } from './line/said.ts'
import { path } from './line/values.ts'
import type { Operated } from './operated.ts'

/** What is for sale. */
export const catalogueCommands = [
  looking({
    noun: 'catalogue',
    verb: 'check',
    summary: 'Says what is wrong with a catalogue, by file and line',
    details: 'The exit status is 1 where anything is. A gateway would not start with it.',
    arguments: { file: optional(path('<file>'), 'Left out: the one that the gateways read') },
    options: {},
    examples: [
      ['catalogue check', 'the one that the gateways read'],
      ['catalogue check config/next.yaml', 'one that is being written'],
    ],
    async run({ config }, given) {
      const file = given.file === null ? config().catalogueFile : resolve(given.file)
      const { catalogue, problems } = await readNamed(config(), file)
      if (catalogue === null) {
        return {
          data: { file, good: false, problems },
          text: problems.map(problem => `${problem}\n`).join(''),
          exit: EXIT.refused,
        }
      }
      const holds = [
        counted(catalogue.regions.length, 'region'),
        counted(catalogue.gpu_specs.length, 'GPU'),
        counted(catalogue.images.length, 'image'),
        counted(catalogue.models.length, 'model'),
      ].join(', ')
      return { data: { file, good: true, problems: [] }, text: `${file} is good: ${holds}.\n` }
    },
  }),
  looking({
    noun: 'catalogue',
    verb: 'diff',
    summary: 'Says what another catalogue would change, in words',
    details:
      'A file is compared with the one that the gateways read when they start; without one, that is compared with what the ' +
      'gateways go by that run. The exit status is 1 where anything differs.',
    arguments: { file: optional(path('<file>'), 'The other catalogue; left out: what gateways go by') },
    options: {},
    examples: [
      ['catalogue diff config/next.yaml', 'regions, prices, images and models that come, go and change'],
      ['catalogue diff', 'what gateways that run would sell otherwise, had they started now'],
    ],
    async run({ config, installation }, given) {
      const own = await readGood(config(), config().catalogueFile)
      const changes =
        given.file === null
          ? differing(await heldBy(await running(installation)), await asText(own, 'the file'))
          : diffCatalogues(own, await readGood(config(), resolve(given.file)))
      return {
        data: { changes },
        text: changes.length === 0 ? 'Nothing differs.\n' : linesOf(changes).join(''),
        ...(changes.length === 0 ? {} : { exit: EXIT.refused }),
      }
    },
  }),
  changing({
    noun: 'catalogue',
    verb: 'apply',
    summary: 'Has all gateways that run take a catalogue, without a restart',
    details:
      'They take prices, GPUs with their stock, images, models with their servers, all texts, and of regions the name, the price ' +
      'of traffic and whether they are open. What runs keeps its rate. Regions that come or go, engines, public_ips, brands, ' +
      'registries, sla, check_in, referral, found_models, and models that run beside the gateway are taken at a start alone: a ' +
      'catalogue that changes any of those is refused as a whole. A gateway that starts goes by its file, so put it there, too. ' +
      'What is typed is the file’s name, and only where something goes or a region is closed.',
    destroys: true,
    arguments: { file: optional(path('<file>'), 'Left out: the one that the gateways read when they start') },
    options: {},
    examples: [
      ['catalogue apply --dry-run', 'says what of the edited file gateways would take, or why they cannot'],
      ['catalogue apply', 'sells by it'],
    ],
    async plan({ config, installation }, given) {
      const file = given.file === null ? config().catalogueFile : resolve(given.file)
      const after = await asText(await readGood(config(), file), file)
      const gateways = await running(installation)
      const held = await heldBy(gateways)
      const left = distinct(held.flatMap(before => changesForRestart(before, after)))
      if (left.length > 0) {
        throw new Refused(
          `Gateways take this only when they start, so nothing is applied:\n${linesOf(left).join('')}` +
            `Restart them one after the other with it in ${config().catalogueFile}, or leave it out.`,
        )
      }
      const changes = differing(held, after)
      const { catalogues } = await installation()
      return {
        says: [
          `${counted(gateways.length, 'gateway')} ${gateways.length === 1 ? 'takes' : 'take'} ${file} while running.`,
          ...(changes.length === 0
            ? ['Nothing is sold otherwise.']
            : linesOf(changes).map(line => line.trim())),
        ],
        data: { file, changes },
        ...(changes.some(isLoss) && { confirm: basename(file) }),
        target: file,
        async act() {
          const version = await catalogues.apply(after.source)
          const taken = await taking(catalogues, version)
          const not = taken.filter(({ why }) => why !== null)
          const good = taken.length - not.length
          const elsewhere = file === config().catalogueFile ? '' : startsBy(config().catalogueFile)
          const text = [
            `${good} of ${counted(taken.length, 'gateway')} ${good === 1 ? 'goes' : 'go'} by it.\n`,
            ...not.map(({ address, why }) => `${address}: ${why}\n`),
            elsewhere,
          ].join('')
          return { data: { file, changes, version, gateways: taken }, text, ...exitOf(not.length) }
        },
      }
    },
  }),
]

/** How long gateways that were told have to take it. */
const TAKING_MS = 20_000
const TAKING_LOOK_MS = 200

const exitOf = (missing: number) => (missing === 0 ? {} : { exit: EXIT.refused })
const startsBy = (file: string) => `Gateways that start go by ${file}: put it there, too.\n`
const linesOf = (changes: readonly CatalogueChange[]) => changes.map(change => `${changeLine(change)}\n`)

/** Whether customers have something less to choose from. */
const isLoss = ({ kind, what, detail }: CatalogueChange) =>
  kind === 'removed' || (what === 'region' && detail.startsWith('enabled: true'))

/** Each change once, though several gateways would have it. */
function distinct(changes: readonly CatalogueChange[]): CatalogueChange[] {
  return [...new Map(changes.map(change => [changeLine(change), change])).values()]
}

const differing = (held: readonly Catalogue[], after: Catalogue) =>
  distinct(held.flatMap(before => diffCatalogues(before, after)))

/** @throws Refused where none runs. */
async function running(installation: () => Promise<Operated>): Promise<GatewayCatalogue[]> {
  const gateways = await (await installation()).catalogues.gateways()
  if (gateways.length > 0) return gateways
  throw new Refused('No gateway runs: one that starts goes by its file.')
}

/** What gateways go by, each text once. @throws Refused where one does not say it. */
async function heldBy(gateways: readonly GatewayCatalogue[]): Promise<Catalogue[]> {
  const { readCatalogueText } = await import('../gateway-parts.ts')
  const sources = gateways.map(({ address, source }) => {
    if (source !== null) return source
    throw new Refused(`The gateway at ${address} does not say what it goes by: wait a moment, or restart it.`)
  })
  return [...new Set(sources)].map(source => inWords(() => readCatalogueText(source, 'what gateways go by')))
}

/** The same without what stands in other files than its own, which nobody takes without a restart. */
async function asText({ source }: Catalogue, name: string): Promise<Catalogue> {
  const { readCatalogueText } = await import('../gateway-parts.ts')
  return inWords(() => readCatalogueText(source, name))
}

function inWords<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof CatalogueError ? new Refused(error.message) : error
  }
}

/** Waits until each gateway that runs has taken a version, or has said why it does not. */
async function taking(catalogues: Operated['catalogues'], version: number) {
  let gateways = await catalogues.gateways()
  for (let waitedMs = 0; waitedMs < TAKING_MS; waitedMs += TAKING_LOOK_MS) {
    if (gateways.every(one => one.version >= version)) break
    await setTimeout(TAKING_LOOK_MS)
    gateways = await catalogues.gateways()
  }
  return gateways.map(one => ({
    gateway_id: one.gatewayId,
    address: one.address,
    why: one.version >= version ? one.trouble : 'has not taken it yet, and will when it reaches the database',
  }))
}

async function readNamed({ serviceHost }: Config, file: string) {
  // With the drivers' checks, which take a while to load.
  const { readCatalogue } = await import('../gateway-parts.ts')
  try {
    return { catalogue: readCatalogue({ catalogueFile: file, serviceHost }), problems: [] }
  } catch (error) {
    if (error instanceof CatalogueError) return { catalogue: null, problems: error.message.split('\n') }
    throw error
  }
}

async function readGood(config: Config, file: string) {
  const { catalogue, problems } = await readNamed(config, file)
  if (catalogue === null) throw new Refused(problems.join('\n'))
  return catalogue
}
