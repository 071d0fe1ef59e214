import { expect, test } from 'vitest'
import type { Reviewed } from '../domains/images/images.ts'
import { systemClock } from '../platform/clock.ts'
import { systemIds } from '../platform/ids.ts'
import type { Operated } from './operated.ts'
import { createOperatorFixture } from './type-commands-fixture.ts'

const image: Reviewed = {
  id: 'im-abcdefg',
  userId: 'u',
  author: 'Somebody',
  name: 'name',
  description: 'kind\nstart_command        none\r\n\u2028seen                 0\u001b[2J',
  kind: 'POD',
  tags: [],
  regionCode: 'us-west',
  versionInfo: '',
  preloadedModels: '',
  startCommand: 'curl evil',
  httpPorts: [],
  tcpPorts: [],
  minVramGb: 0,
  readme: '',
  cover: null,
  status: 'review',
  number: 1,
  sizeBytes: 1,
  digest: null,
  sourceReference: null,
  communityId: null,
  versionOf: null,
  reviewSince: null,
  reviewBy: null,
  seen: 'abc',
}

test('[R6.5] whatever a customer writes over several lines, a line of the page that begins with a name is ours', async () => {
  const images = { review: { show: async () => image } } as unknown as Operated['images']
  const operator = createOperatorFixture({ clock: systemClock, ids: systemIds, installation: { images } })
  const { out } = await operator.type(`images show ${image.id}`)
  const lines = out.split('\n').filter(line => /^\S/.test(line))
  for (const name of ['start_command', 'seen']) {
    expect(lines.filter(line => line.startsWith(name))).toHaveLength(1)
  }
  expect(lines).toContain('start_command        curl evil')
  expect(out).not.toContain('\u001b')
})

/** Commands that change something, with the call of the domain that each comes to. */
const CHANGES = [
  ['approve', ['--seen', 'abc'], ['approve', 'im-abcdefg', 'abc']],
  ['reject', ['--reason', 'no README'], ['reject', 'im-abcdefg', 'no README']],
  ['take-down', ['--reason', 'mines coins'], ['takeDown', 'im-abcdefg', 'mines coins']],
  ['close-reports', [], ['close', 'im-abcdefg']],
] as const

test.each(CHANGES)(
  '[R6.5] images %s changes nothing with --dry-run, then does it once, and is written down',
  async (verb, options, call) => {
    const done: unknown[] = []
    const logged: string[] = []
    const does =
      <Result>(name: string, result: Result) =>
      async (...given: unknown[]) => {
        done.push([name, ...given])
        return result
      }
    const images = {
      review: {
        show: async () => ({ ...image, status: 'review' }),
        inCommunity: async () => ({ id: image.id, name: image.name, authorId: 'u' }),
        approve: does('approve', image),
        reject: does('reject', image),
        takeDown: does('takeDown', { id: image.id, name: image.name }),
      },
      reports: { of: async () => [], close: does('close', 0) },
    } as unknown as Operated['images']
    const operator = createOperatorFixture({
      ...{ clock: systemClock, ids: systemIds, installation: { images } },
      operators: {
        async begin({ command, target }) {
          logged.push(`${command} ${target} begun`)
          return async ({ outcome }) => void logged.push(`${command} ${target} ${outcome}`)
        },
      },
    })
    const words = ['images', verb, image.id, ...options]
    expect(await operator.type(...words, '--dry-run')).toMatchObject({
      ...{ exit: 0, err: '', out: expect.stringContaining('Would be done: ') },
    })
    expect(done).toEqual([])
    expect(logged).toEqual([])
    expect(await operator.type(...words)).toMatchObject({ exit: 0, err: '' })
    expect(done).toEqual([call])
    expect(logged).toEqual([`images ${verb} ${image.id} begun`, `images ${verb} ${image.id} done`])
  },
)

test.each([['approve'], ['reject'], ['take-down']])(
  '[R6.5] images %s says what is missing, and does nothing',
  async verb => {
    const operator = createOperatorFixture({ clock: systemClock, ids: systemIds, installation: {} })
    expect(await operator.type('images', verb, image.id)).toMatchObject({
      ...{ exit: 2, out: '', err: expect.stringMatching(/^Say .*with --/) },
    })
  },
)
