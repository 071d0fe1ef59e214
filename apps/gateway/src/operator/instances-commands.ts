import type { SeenInstance } from '../domains/instances/instance-desk.ts'
import { NotFound, Refused } from './line/answer.ts'
import { changing, flag, looking, optional, required } from './line/command.ts'
import { counted, fromNow, minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { word } from './line/values.ts'
import { regionsNow } from './regions-now.ts'

/** Instances of all customers. */
export const instancesCommands = [
  looking({
    noun: 'instances',
    verb: 'list',
    summary: 'Instances of all customers, or those that hang',
    arguments: {},
    options: {
      stuck: flag('Only what hangs: too long in a status, unseen, failed, or tried in vain'),
      region: optional(word('<region>'), 'Only of one region'),
    },
    examples: [
      ['instances list --stuck', 'what hangs, in what, since when and why; longest first'],
      ['instances list --region us-west', 'the first five hundred of a region'],
    ],
    async run({ clock, columns, installation }, given) {
      const { desk } = (await installation()).instances
      const now = clock.now()
      const { region } = given
      if (given.stuck) {
        const stuck = (await desk.stuck()).filter(
          ({ regionCode }) => region === null || regionCode === region,
        )
        const shape = [
          ...columnsOf(now),
          { title: 'HANGS', of: ({ stall }: (typeof stuck)[number]) => stall },
          { title: 'WHY', of: whyOf },
        ]
        const text = stuck.length === 0 ? 'Nothing hangs.\n' : table(stuck, shape, columns)
        return { data: stuck.map(row => ({ ...wireOf(row), stall: row.stall })), text }
      }
      const all = await desk.list({ regionCode: region })
      const text = all.length === 0 ? 'There are no instances.\n' : table(all, columnsOf(now), columns)
      return { data: all.map(wireOf), text }
    },
  }),
  looking({
    noun: 'instances',
    verb: 'show',
    summary: 'One instance: what is wanted of it, what is seen, and what failed',
    arguments: { id: required(word('<id>'), 'Its id, i-…', 'Which instance? Its id is missing.') },
    options: {},
    examples: [['instances show i-k3v9q2p', 'and whose it is']],
    async run({ clock, installation }, given) {
      const row = await (await installation()).instances.desk.show(given.id)
      if (row === null) throw new NotFound('There is no such instance.')
      const text = facts([
        ['Instance', `${row.id}  ${row.name}`],
        ['Customer', row.userId],
        ['Region', row.regionCode],
        ['Engine', row.engineId],
        ['Wanted', row.desired],
        [
          'Status',
          `${row.status} since ${minute(row.statusSince)}, ${fromNow(row.statusSince, clock.now())}`,
        ],
        ['Why', whyOf(row) || null],
        ['Failed tries', row.attempts > 0 ? String(row.attempts) : null],
        ['Paid', row.billingType === 'prepay' ? 'in advance' : 'by use'],
      ])
      return { data: wireOf(row), text }
    },
  }),
  changing({
    noun: 'instances',
    verb: 'evacuate',
    summary: 'Stops all that runs in a region; its customers are told by mail',
    details:
      'What is stored stays, on its engine: instances do not move to another region. They are not started again by ' +
      'themselves. Keep new ones away by regions drain first, or say --while-open.',
    destroys: true,
    arguments: {
      region: required(
        word('<region>'),
        'Its code, as the catalogue has it',
        'Which region? Its code is missing.',
      ),
    },
    options: { 'while-open': flag('Though customers can deploy there and start again what is stopped') },
    examples: [
      ['instances evacuate us-west --dry-run', 'says what would become of each instance'],
      ['instances evacuate us-west --confirm us-west', 'stops them'],
    ],
    async plan({ installation, config }, given) {
      const { instances, catalogues } = await installation()
      const { readCatalogue, readCatalogueText } = await import('../gateway-parts.ts')
      const gateways = (await catalogues.gateways()).flatMap(({ source, drained }) =>
        source === null ? [] : { drained, regions: readCatalogueText(source, 'what gateways go by').regions },
      )
      const drains = (await catalogues.drains()).map(({ regionCode }) => regionCode)
      const read =
        gateways.length > 0 ? gateways : [{ drained: drains, regions: readCatalogue(config()).regions }]
      const offered = read.flatMap(({ drained, regions }) =>
        regions
          .filter(({ code }) => code === given.region)
          .map(({ code, enabled }) => enabled && !drained.includes(code)),
      )
      const all = await instances.desk.list({ regionCode: given.region })
      if (offered.length === 0 && all.length === 0) throw new NotFound(`There is no region ${given.region}.`)
      if (offered.includes(true) && !given['while-open']) {
        throw new Refused(
          `Customers can deploy in ${given.region}: say regions drain ${given.region} first, or --while-open.`,
        )
      }
      const running = all.filter(({ mayRun, desired }) => mayRun && desired === 'running')
      return {
        says: [
          `${counted(running.length, 'instance')} of ${counted(all.length, 'instance')} in ${given.region} ${
            running.length === 1 ? 'is' : 'are'
          } stopped.`,
          ...all.map(
            row => `${row.id} “${row.name}”: ${running.includes(row) ? fateOf(row) : `stays ${row.status}`}.`,
          ),
        ],
        data: { region: given.region, stops: running.map(({ id }) => id) },
        confirm: given.region,
        target: given.region,
        async act() {
          const stopped: string[] = []
          for (const [userId, rows] of Map.groupBy(running, row => row.userId)) {
            stopped.push(...(await instances.stopByOperator({ userId, ids: rows.map(({ id }) => id) })))
          }
          return {
            data: { region: given.region, stopped },
            text: `${counted(stopped.length, 'instance')} ${stopped.length === 1 ? 'is' : 'are'} being stopped; their customers are told.\n`,
          }
        },
      }
    },
  }),
  changing({
    noun: 'instances',
    verb: 'move',
    summary: 'Starts again, on other computers, what runs on those of a region that are taken out of service',
    details:
      'For engines of several computers: a node of a cluster that is cordoned, or has a taint of whoever drains it. Each ' +
      'instance there is ended in good order and started again with its own disk where the engine has room; its customer is ' +
      'told by mail, and pays nothing from its end until it starts. One whose disk lies on its computer alone stays and is ' +
      'named. Where nothing has room, it fails with its disk kept, so look at the stock first. Say it again for what came to ' +
      'such a computer meanwhile; a drain of the cluster itself comes after that.',
    destroys: true,
    arguments: {
      region: required(
        word('<region>'),
        'Its code, as the catalogue has it',
        'Which region? Its code is missing.',
      ),
    },
    options: {},
    examples: [
      ['instances move us-west --dry-run', 'says which are moved, and which cannot be'],
      ['instances move us-west --confirm us-west', 'moves them'],
    ],
    async plan({ installation, config }, given) {
      const { instances, catalogues } = await installation()
      const all = await instances.desk.list({ regionCode: given.region })
      const regions = await regionsNow(config(), catalogues)
      if (all.length === 0 && !regions.some(({ code }) => code === given.region))
        throw new NotFound(`There is no region ${given.region}.`)
      const there = all.filter(({ status, reasonCode }) => status === 'running' && isOnDraining(reasonCode))
      const moving = there.filter(({ reasonCode }) => reasonCode === 'node_draining')
      return {
        says: [
          `${counted(moving.length, 'instance')} of ${counted(there.length, 'instance')} on computers that are taken out of ` +
            `service in ${given.region} ${moving.length === 1 ? 'is' : 'are'} moved.`,
          ...there.map(
            row =>
              `${row.id} “${row.name}”: ${
                moving.includes(row)
                  ? 'is started again on another computer, with its disk'
                  : 'stays: its disk lies on that computer alone, or no other takes it'
              }.`,
          ),
        ],
        data: {
          region: given.region,
          moves: moving.map(({ id }) => id),
          stays: there.filter(row => !moving.includes(row)).map(({ id }) => id),
        },
        confirm: given.region,
        target: given.region,
        async act() {
          const moved: string[] = []
          for (const [userId, rows] of Map.groupBy(moving, row => row.userId)) {
            moved.push(...(await instances.moveByOperator({ userId, ids: rows.map(({ id }) => id) })))
          }
          return {
            data: { region: given.region, moved },
            text: `${counted(moved.length, 'instance')} ${moved.length === 1 ? 'is' : 'are'} being moved; their customers are told.\n`,
          }
        },
      }
    },
  }),
]

const isOnDraining = (reason: SeenInstance['reasonCode']) =>
  reason === 'node_draining' || reason === 'node_draining_fixed'

const fateOf = ({ billingType }: SeenInstance) =>
  billingType === 'prepay'
    ? 'is stopped, and the term that is paid goes on'
    : 'is stopped, and only its disk goes on costing'

const whyOf = (row: SeenInstance) =>
  [row.failureCode ?? row.reasonCode ?? '', row.failureDetail ?? row.reasonDetail ?? '']
    .filter(text => text !== '')
    .join(': ')

function columnsOf(now: Date): Column<SeenInstance>[] {
  return [
    { title: 'INSTANCE', of: row => row.id },
    { title: 'NAME', of: row => row.name },
    { title: 'CUSTOMER', of: row => row.userId },
    { title: 'REGION', of: row => row.regionCode },
    { title: 'STATUS', of: row => row.status },
    { title: 'SINCE', of: row => fromNow(row.statusSince, now) },
  ]
}

const wireOf = (row: SeenInstance) => ({
  instance_id: row.id,
  name: row.name,
  user_id: row.userId,
  region_code: row.regionCode,
  engine_id: row.engineId,
  desired: row.desired,
  status: row.status,
  status_since: row.statusSince.toISOString(),
  attempts: row.attempts,
  why: whyOf(row),
})
