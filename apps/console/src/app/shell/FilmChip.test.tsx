import { getCreation, listCreations } from '@berth/contract/creations'
import { act, screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { reread } from '../../api/cache-lifecycle.ts'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { failedItem, listOf, madeItem, madeRun, openItem } from '../../making/creation-fixture.ts'
import { FilmChip } from './FilmChip.tsx'

const RENDERING = madeRun({
  kind: 'video',
  items: [openItem({ status: 'rendering', progress: { percent: 62, frame: 75, frames: 121 } })],
})

async function open(items: Parameters<typeof listOf>[0], counts = {}) {
  const { sent } = await answerCalls({
    [listCreations.operation]: () => listOf(items, counts),
    [getCreation.operation]: () => items[0],
  })
  await renderInPage(() => (
    <InShell>
      <FilmChip />
    </InShell>
  ))
  return { asked: (operation: string) => sent.filter(one => one.operation === operation) }
}

test('a video that is under way is said with how far it is, and leads to its page', async () => {
  await open([RENDERING], { counts: { all: 3, starred: 0, not_made: 0, open: 2 } })
  const link = await screen.findByRole('link', { name: /^Video, 62% and 1 more$/ })
  expect(link.getAttribute('href')).toBe('/video-model')
})

test('one that becomes ready is said for a while, with the way to it, though lists leave it out by then', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let isReady = false
  await answerCalls({
    [listCreations.operation]: () => listOf(isReady ? [] : [RENDERING]),
    [getCreation.operation]: () => (isReady ? { ...RENDERING, items: [madeItem()] } : RENDERING),
  })
  await renderInPage(() => (
    <InShell>
      <FilmChip />
    </InShell>
  ))
  await screen.findByRole('link', { name: /62%/ })
  isReady = true
  await reread([listCreations.operation, getCreation.operation])
  const link = await screen.findByRole('link', { name: 'Video ready' })
  expect(link.getAttribute('href')).toBe('/video-model?video=r0')
  await act(async () => vi.advanceTimersByTime(61_000))
  await waitFor(() => expect(screen.queryByRole('link')).toBeNull())
})

test('one that was stopped is said no more', async () => {
  let isOver = false
  await answerCalls({
    [listCreations.operation]: () => listOf(isOver ? [] : [RENDERING]),
    [getCreation.operation]: () => (isOver ? { ...RENDERING, items: [failedItem()] } : RENDERING),
  })
  await renderInPage(() => (
    <InShell>
      <FilmChip />
    </InShell>
  ))
  await screen.findByRole('link', { name: /62%/ })
  isOver = true
  await reread([listCreations.operation, getCreation.operation])
  await waitFor(() => expect(screen.queryByRole('link')).toBeNull())
})

test('where none is under way nothing is said, and nothing is looked at again', async () => {
  const { asked } = await open([])
  await waitFor(() => expect(asked(listCreations.operation)).toHaveLength(1))
  expect(asked(listCreations.operation)[0]?.path).toContain('kind=video&show=open&limit=1')
  expect(screen.queryByRole('link')).toBeNull()
  expect(asked(getCreation.operation)).toEqual([])
})
