import { getBalance } from '@berth/contract/billing'
import {
  type Creation,
  creationOutlook,
  deleteCreation,
  getCreation,
  listCreations,
  makeVideo,
  notifyCreation,
  retryCreation,
  stopCreation,
  uploadPicture,
} from '@berth/contract/creations'
import { listModelFigures } from '@berth/contract/model-figures'
import { listModels } from '@berth/contract/models'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell } from '../../gateway-fixture.tsx'
import { failedItem, listOf, madeItem, madeRun, openItem, pngHead } from '../../making/creation-fixture.ts'
import { madeModel } from '../../models/model-fixture.ts'
import { Page } from './VideoModelPage.tsx'

const WAN = madeModel({
  ...{ id: 'wan', name: 'Wan', kind: 'video', video_micro_per_second: '40000', context_tokens: 0 },
  ...{ video_seconds: [2, 5, 8], sizes: ['1280x720', '720x1280', '854x480'] },
  image_input: { count_max: 2, bytes_max: 1_000, types: ['image/png'] },
})
const FILM = { id: 'f0', url: '/gateway/creation-files/film', type: 'video/mp4', bytes: 3_800_000 }
const madeFilm = (part: Partial<Creation> = {}) =>
  madeRun({
    ...{ kind: 'video', model_id: 'wan', model_name: 'Wan', prompt: 'Harbour at dusk', size: '1280x720' },
    ...{ seconds: 5, cost_micro: '200000', items: [madeItem({ file: FILM, cost_micro: '200000' })] },
    ...part,
  })

interface Setup {
  /** What there is, in whichever state. */
  films?: () => readonly Creation[]
  user?: Parameters<typeof answerCalls>[1]
  answers?: Parameters<typeof answerCalls>[0]
  at?: string
}

async function open({ films = () => [], user, answers = {}, at = '' }: Setup = {}) {
  const calls = await answerCalls(
    {
      [listModels.operation]: () => [WAN],
      [listModelFigures.operation]: () => [],
      [creationOutlook.operation]: () => ({ median_ms: 21_000, waiting_before: 1 }),
      [getBalance.operation]: () => ({
        ...{ currency: 'USD', coupon_count: 0, burn_micro_per_hour: '0', lasts_seconds: null },
        account_balance: {
          ...{ amount: 5_000, amount_available: 5_000, amount_credits: 0, amount_free: 0 },
          ...{ amount_freeze: 0, amount_owed: 0 },
        },
      }),
      [listCreations.operation]: ({ path }) =>
        listOf(films().filter(({ items }) => !path.includes('show=open') || items[0]?.ended_at === null)),
      [getCreation.operation]: () => films()[0],
      ...answers,
    },
    user,
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['making', 'models', 'chat'], at },
  )
  const prompt = await screen.findByRole('textbox', { name: 'Prompt' })
  return { page, prompt, asked: (operation: string) => calls.sent.filter(one => one.operation === operation) }
}

const group = (name: string) => within(screen.getByRole('group', { name }))

describe('asking for a video', () => {
  test('[R2.30] takes its length, seed, what is left out, and how it begins and ends; its price is told before', async () => {
    let sent = 0
    const { prompt, asked } = await open({
      answers: {
        [uploadPicture.operation]: () => ({
          ...{ id: `f0000000-0000-4000-8000-00000000000${++sent}`, url: '/x', type: 'image/png', bytes: 9 },
        }),
      },
    })
    await userEvent.type(prompt, 'Harbour at dusk')
    await userEvent.type(screen.getByRole('textbox', { name: /^Leave out/ }), 'people')
    await userEvent.click(group('Seconds').getByRole('radio', { name: '5' }))
    await userEvent.click(group('Size').getByRole('radio', { name: '720p tall' }))
    await userEvent.type(screen.getByRole('textbox', { name: /^Seed/ }), '7719')
    const png = new File([pngHead(640, 480)], 'a.png')
    for (const name of ['First image', 'Last image']) {
      const field = screen.getByLabelText(name, { selector: 'input' })
      await act(async () => fireEvent.change(field, { target: { files: [png] } }))
      await screen.findByRole('img', { name: `${name}: a.png` })
    }
    expect(screen.getByText('5 s at $0.04 a second').nextSibling?.textContent).toBe('$0.20')
    expect(await screen.findByText('1 m 45 s, 1 before it')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Make the video' }))
    await waitFor(() => expect(asked(makeVideo.operation)).toHaveLength(1))
    expect(asked(makeVideo.operation)[0]?.body).toEqual({
      ...{ model: 'wan', prompt: 'Harbour at dusk', negative_prompt: 'people', mail: false },
      ...{ size: '720x1280', seconds: 5, seed: 7_719 },
      image: 'f0000000-0000-4000-8000-000000000001',
      last_image: 'f0000000-0000-4000-8000-000000000002',
    })
  })

  test('[R4.2] [R6.3] without a verified address nothing is made, and why stands beside the button', async () => {
    const { prompt, asked } = await open({ user: { user: customer({ emailVerified: false }) } })
    await userEvent.type(prompt, 'x')
    await userEvent.click(screen.getByRole('button', { name: 'Make the video' }))
    expect(screen.getAllByText(/^The account is not activated\./).length).toBeGreaterThan(0)
    expect(asked(makeVideo.operation)).toEqual([])
  })

  test('one is made by a press of keys, which is told; a guest is asked to log in to make it', async () => {
    const { prompt, asked } = await open({ user: { user: null } })
    expect(screen.getByText('Ctrl+Enter makes it')).toBeTruthy()
    await userEvent.type(prompt, 'x')
    await userEvent.click(screen.getByRole('button', { name: 'Log in to make it' }))
    expect(await screen.findByRole('dialog', { name: 'Log in to make it?' })).toBeTruthy()
    expect(asked(makeVideo.operation)).toEqual([])
  })

  test('before the first one there are prompts to start from, which are only written down', async () => {
    const { prompt, asked } = await open()
    await userEvent.click(await screen.findByRole('button', { name: /^A lighthouse/ }))
    expect((prompt as HTMLTextAreaElement).value).toMatch(/^A lighthouse/)
    expect(asked(makeVideo.operation)).toEqual([])
  })
})

describe('a video that is under way', () => {
  const rendering = (part: Partial<Creation> = {}) =>
    madeFilm({
      ...{ cost_micro: '0', prompt: 'Slow pan' },
      items: [
        openItem({
          ...{ status: 'rendering', rendering_at: '2026-11-27T10:00:04.000Z' },
          progress: { percent: 62, frame: 75, frames: 121 },
        }),
      ],
      ...part,
    })
  const card = async () => within(await screen.findByRole('article', { name: 'Being made: Slow pan' }))

  test('says its step and frames, and becomes what is played once it is there', async () => {
    let film = rendering()
    await open({ films: () => [film] })
    const shown = await card()
    expect(shown.getByText('62%')).toBeTruthy()
    expect(shown.getByText('frame 75 of 121')).toBeTruthy()
    expect(shown.getByRole('listitem', { current: 'step' }).textContent).toContain('Rendering')
    // Screen readers hear of steps, and not of each percent.
    expect(shown.getByRole('status').textContent).toBe('Rendering')
    film = madeFilm({ prompt: 'Slow pan' })
    const player = await screen.findByLabelText('Slow pan', { selector: 'video' }, { timeout: 10_000 })
    expect(player.getAttribute('src')).toBe(FILM.url)
    expect(player.hasAttribute('loop')).toBe(true)
    expect(screen.queryByRole('article', { name: /^Being made/ })).toBeNull()
  })

  test('waits behind those of others alone: its own are seen beside it; nothing is drawn as passed while it waits', async () => {
    const waiting = madeFilm({
      ...{ id: 'r2', prompt: 'Behind it', created_at: '2026-11-27T10:01:00.000Z' },
      items: [openItem({ id: 'i2', waiting_before: 3 })],
    })
    await open({
      films: () => [waiting, rendering()],
      answers: {
        [creationOutlook.operation]: () => ({ median_ms: 21_000, waiting_before: 2 }),
        [listCreations.operation]: () =>
          listOf([waiting, rendering()], { counts: { all: 2, starred: 0, not_made: 0, open: 2 } }),
        [getCreation.operation]: ({ path }) => (path.includes('r2') ? waiting : rendering()),
      },
    })
    const shown = within(await screen.findByRole('article', { name: 'Being made: Behind it' }))
    expect(await shown.findByText('2 before it')).toBeTruthy()
    // Both that are before the next one are the customer's.
    expect(await screen.findByText('42 s')).toBeTruthy()
    const first = shown.getByRole('listitem', { current: 'step' })
    expect(first.textContent).toContain('Queued')
    expect((first.firstElementChild as HTMLElement).style.getPropertyValue('--part')).toBe('0%')
  })

  test('is stopped by one press, and tells by mail where that is wanted', async () => {
    const { asked } = await open({ films: () => [rendering()] })
    const shown = await card()
    await userEvent.click(shown.getByRole('switch', { name: 'Mail me' }))
    await waitFor(() => expect(asked(notifyCreation.operation)[0]?.body).toEqual({ mail: true }))
    await userEvent.click(shown.getByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(asked(stopCreation.operation)).toHaveLength(1))
  })
})

describe('videos that were made', () => {
  const FAILED = madeFilm({ id: 'r1', prompt: 'In rain', cost_micro: '0', items: [failedItem({ id: 'i1' })] })

  test('the newest is shown with its settings and what it cost; another one by its picture, and by the address', async () => {
    const other = madeFilm({ id: 'r2', prompt: 'Chart', seed: 5 })
    const { page } = await open({ films: () => [madeFilm(), other] })
    const shown = within(await screen.findByRole('article', { name: 'Harbour at dusk' }))
    for (const fact of ['1280 × 720', '5 s', '11', 'MP4, 3.8 MB', '$0.20', 'Kept until 27 Dec 2026.'])
      expect(shown.getByText(fact)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Chart' }))
    expect(await screen.findByRole('article', { name: 'Chart' })).toBeTruthy()
    expect(page.search()).toBe('?video=r2')
    await userEvent.click(screen.getByRole('button', { name: 'Reuse settings' }))
    expect(screen.getByRole<HTMLInputElement>('textbox', { name: /^Seed/ }).value).toBe('5')
  })

  test('[B11] one that was not made keeps its place, says why and that it was not charged, and can be tried again', async () => {
    const { asked } = await open({ films: () => [FAILED], at: '?video=r1' })
    const shown = within(await screen.findByRole('article', { name: 'In rain' }))
    expect(shown.getByText('The server ran out of memory. Not charged.')).toBeTruthy()
    expect(screen.getByText('Not made, not charged')).toBeTruthy()
    await userEvent.click(shown.getByRole('button', { name: 'Try again, $0.20' }))
    await waitFor(() => expect(asked(retryCreation.operation)[0]?.path).toContain('/item/i1/retry'))
  })

  test('one that was stopped says so, is chosen by its words as by its picture, and can be tried again or deleted', async () => {
    const stopped = madeFilm({
      ...{ id: 'r2', prompt: 'To be stopped', cost_micro: '0' },
      items: [failedItem({ id: 'i2', status: 'stopped', error: null })],
    })
    const { asked } = await open({ films: () => [stopped, madeFilm()] })
    await userEvent.click(await screen.findByText('Stopped, not charged'))
    const thumb = screen.getByRole('button', { name: 'To be stopped, Stopped, not charged' })
    await waitFor(() => expect(thumb.getAttribute('aria-pressed')).toBe('true'))
    const shown = within(screen.getByRole('article', { name: 'To be stopped' }))
    await userEvent.click(shown.getByRole('button', { name: 'Try again, $0.20' }))
    await waitFor(() => expect(asked(retryCreation.operation)[0]?.path).toContain('/item/i2/retry'))
    await userEvent.click(shown.getByRole('button', { name: 'More for this run' }))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Delete' }))
    const dialog = within(await screen.findByRole('dialog'))
    await userEvent.click(dialog.getByRole('button', { name: 'Delete' }))
    await waitFor(() => expect(asked(deleteCreation.operation)[0]?.path).toContain('r2'))
  })

  test('[B11] its code makes the same by a program', async () => {
    await open({ films: () => [madeFilm({ negative_prompt: 'people' })] })
    const shown = within(await screen.findByRole('article', { name: 'Harbour at dusk' }))
    await userEvent.click(shown.getByRole('button', { name: 'More for this run' }))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Code' }))
    const code = await screen.findByRole('region', { name: 'cURL' })
    for (const part of ['/v1/videos', '"seconds": "5"', '"negative_prompt": "people"', '"seed": 11'])
      expect(code.textContent).toContain(part)
  })
})
