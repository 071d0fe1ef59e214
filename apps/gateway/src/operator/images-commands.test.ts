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
