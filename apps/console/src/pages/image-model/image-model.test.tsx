import { getBalance } from '@berth/contract/billing'
import {
  creationArchive,
  creationOutlook,
  deleteCreation,
  getCreation,
  listCreations,
  makeImages,
  retryCreation,
  starCreation,
  uploadPicture,
} from '@berth/contract/creations'
import { listModelFigures } from '@berth/contract/model-figures'
import { listModels, type Model } from '@berth/contract/models'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { connection } from '../../api/connection.ts'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../../gateway-fixture.tsx'
import { failedItem, listOf, madeItem, madeRun, openItem, pngHead } from '../../making/creation-fixture.ts'
import { madeModel } from '../../models/model-fixture.ts'
import { Page } from './ImageModelPage.tsx'

const SD = madeModel({
  ...{ id: 'sd', name: 'SD', kind: 'image', image_micro: '12000', context_tokens: 0, images_max: 4 },
  sizes: ['512x512', '768x512', '512x768'],
  image_input: { count_max: 1, bytes_max: 1_000, types: ['image/png', 'image/jpeg'] },
})
const PLAIN = madeModel({
  ...SD,
  id: 'plain',
  name: 'Plain',
  image_micro: '3000',
  images_max: 1,
  image_input: null,
})

interface Setup {
  at?: string
  models?: readonly Model[]
  user?: Parameters<typeof answerCalls>[1]
  answers?: Parameters<typeof answerCalls>[0]
  available?: number
}

async function open({ at = '', models = [SD, PLAIN], user, answers = {}, available = 5_000 }: Setup = {}) {
  const balance = {
    ...{ currency: 'USD', coupon_count: 0, burn_micro_per_hour: '0', lasts_seconds: null },
    account_balance: {
      ...{ amount: available, amount_available: available, amount_credits: 50, amount_free: 50 },
      ...{ amount_freeze: 0, amount_owed: 0 },
    },
  }
  const calls = await answerCalls(
    {
      [listModels.operation]: () => models,
      [listModelFigures.operation]: () => [],
      [creationOutlook.operation]: () => ({ median_ms: 5_100, waiting_before: 0 }),
      [getBalance.operation]: () => balance,
      [listCreations.operation]: () => listOf([]),
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

const made = (asked: (operation: string) => { body: unknown; idempotencyKey: string | null }[]) =>
  asked(makeImages.operation)
const group = (name: string) => within(screen.getByRole('group', { name }))

describe('asking for pictures', () => {
  test('[B11] the price is told before, by the same rule as it is charged; what is sent is what was chosen', async () => {
    const { prompt, asked } = await open()
    await userEvent.type(prompt, 'A harbour at dawn')
    await userEvent.type(screen.getByRole('textbox', { name: /^Leave out/ }), 'text')
    await userEvent.click(group('Images').getByRole('radio', { name: '4' }))
    await userEvent.click(group('Size').getByRole('radio', { name: '3 : 2' }))
    await userEvent.type(screen.getByRole('textbox', { name: /^Seed/ }), '90414')
    expect(screen.getByText('4 images at $0.012').nextSibling?.textContent).toBe('$0.048')
    expect(await screen.findByText('$0.50 left')).toBeTruthy()
    expect(await screen.findByText(/median 5\.1 s/)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Make 4 images' }))
    await waitFor(() => expect(made(asked)).toHaveLength(1))
    expect(made(asked)[0]?.body).toEqual({
      ...{ model: 'sd', prompt: 'A harbour at dawn', negative_prompt: 'text' },
      ...{ count: 4, size: '768x512', seed: 90_414, image: null },
    })
    // The next ones are made by the same words.
    expect((prompt as HTMLTextAreaElement).value).toBe('A harbour at dawn')
  })

  test.each(['ctrlKey', 'metaKey'])(
    'with %s, Enter makes them; Enter by itself breaks the line',
    async key => {
      const { prompt, asked } = await open()
      expect(screen.getByText('Ctrl+Enter makes it')).toBeTruthy()
      await userEvent.click(group('Images').getByRole('radio', { name: '4' }))
      expect(screen.getByText('Ctrl+Enter makes them')).toBeTruthy()
      await userEvent.type(prompt, 'A harbour')
      fireEvent.keyDown(prompt, { key: 'Enter' })
      fireEvent.keyDown(prompt, { key: 'Enter', [key]: true, isComposing: true })
      expect(made(asked)).toEqual([])
      await act(async () => fireEvent.keyDown(prompt, { key: 'Enter', [key]: true }))
      await waitFor(() => expect(made(asked)).toHaveLength(1))
    },
  )

  test('without a prompt nothing is sent, and the field says so', async () => {
    const { prompt, asked } = await open()
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    expect(prompt.getAttribute('aria-invalid')).toBe('true')
    expect(document.activeElement).toBe(prompt)
    expect(made(asked)).toEqual([])
  })

  test('what the gateway refuses is said, and what was typed stays', async () => {
    const { prompt } = await open({
      answers: { [makeImages.operation]: () => new Refusal([], 'insufficient_balance', 402) },
    })
    await userEvent.type(prompt, 'A harbour')
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    expect(await screen.findByText('refused: insufficient_balance')).toBeTruthy()
    expect((prompt as HTMLTextAreaElement).value).toBe('A harbour')
  })

  test('[B3] a request that is lost says so; made again it is the same one, and is paid for once', async () => {
    let isLost = true
    const { prompt, asked } = await open({
      answers: {
        [makeImages.operation]: () => {
          if (isLost) throw new TypeError('the network is gone')
          return { id: 'f0000000-0000-4000-8000-0000000000ff' }
        },
      },
    })
    await userEvent.type(prompt, 'A harbour')
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    expect(await screen.findByText(/^Network connection failed/)).toBeTruthy()
    expect((prompt as HTMLTextAreaElement).value).toBe('A harbour')
    isLost = false
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    await waitFor(() => expect(asked(makeImages.operation)).toHaveLength(2))
    await waitFor(() => expect(screen.queryByText(/^Network connection failed/)).toBeNull())
    const [first, second] = made(asked)
    expect(first?.idempotencyKey).toBeTruthy()
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey)
  })

  test('while there is no network the button says so; once it is back, that it was lost is said no more', async () => {
    const { prompt, asked } = await open({
      answers: {
        [makeImages.operation]: () => {
          throw new TypeError('the network is gone')
        },
      },
    })
    await userEvent.type(prompt, 'A harbour')
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    expect(await screen.findByText(/^Network connection failed/)).toBeTruthy()
    act(() => connection.lose())
    const button = screen.getByRole('button', { name: 'Make 1 image' })
    await waitFor(() => expect(button.getAttribute('aria-disabled')).toBe('true'))
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    expect(made(asked)).toHaveLength(1)
    const reads = asked(listCreations.operation).length
    act(() => connection.hear())
    await waitFor(() => expect(screen.queryByText(/^Network connection failed/)).toBeNull())
    expect(asked(listCreations.operation).length).toBeGreaterThan(reads)
    expect(screen.getByRole('button', { name: 'Make 1 image' }).hasAttribute('aria-disabled')).toBe(false)
  })

  test('where calls are free each day the price is the most that it can cost, and what is free stands beside it', async () => {
    await open({ models: [madeModel({ ...SD, free_calls_per_day: 5 })] })
    expect(screen.getByText('1 image at $0.012').nextSibling?.textContent).toBe('at most $0.012')
    expect(screen.getByText('Free each day').nextSibling?.textContent).toBe('5 calls, one per image')
    expect(screen.getByText(/Charged only beyond the free calls of the day\.$/)).toBeTruthy()
  })

  test('a balance that is too low says how much is missing, with the way to more', async () => {
    await open({ available: 1 })
    expect(await screen.findByText('The balance lacks $0.002')).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Top up' }).getAttribute('href')).toBe('/payments?topup=open')
  })

  test('[R2.3] [R6.1] a guest sees the page, is asked to log in, and finds what they typed again', async () => {
    const { prompt, asked, page } = await open({ user: { user: null } })
    expect(screen.getByText('Three prompts to start from')).toBeTruthy()
    expect(asked(listCreations.operation)).toEqual([])
    await userEvent.type(prompt, 'A harbour')
    await userEvent.click(screen.getByRole('button', { name: 'Log in to make it' }))
    const dialog = within(await screen.findByRole('dialog', { name: 'Log in to make it?' }))
    expect(dialog.getByRole('button', { name: 'Log in' })).toBeTruthy()
    expect(made(asked)).toEqual([])
    expect(page.path()).toBe('/page')
    expect(sessionStorage.getItem('berth.image-model.draft')).toContain('A harbour')
  })

  test('[R4.2] [R6.3] without a verified address nothing is made, and why stands beside the button', async () => {
    const { prompt, asked } = await open({ user: { user: customer({ emailVerified: false }) } })
    await userEvent.type(prompt, 'A harbour')
    const button = screen.getByRole('button', { name: 'Make 1 image' })
    expect(button.getAttribute('aria-disabled')).toBe('true')
    expect(screen.getByText(/^The account is not activated\./)).toBeTruthy()
    await userEvent.click(button)
    expect(made(asked)).toEqual([])
  })

  test('another model has its own sizes and counts; one of the address that is not here is said', async () => {
    const { page, prompt, asked } = await open({ at: '?model=gone' })
    expect(await screen.findByText('There is no model gone here; SD is chosen instead.')).toBeTruthy()
    await userEvent.click(group('Images').getByRole('radio', { name: '4' }))
    await userEvent.selectOptions(screen.getByRole('combobox', { name: 'Model' }), 'plain')
    await waitFor(() => expect(page.search()).toBe('?model=plain'))
    expect(screen.getByText('1 image at $0.003')).toBeTruthy()
    expect(screen.queryByText('Start from')).toBeNull()
    await userEvent.type(prompt, 'x')
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    await waitFor(() => expect(made(asked)[0]?.body).toMatchObject({ model: 'plain', count: 1 }))
  })
})

describe('a picture to start from', () => {
  const PNG = pngHead(640, 480)
  const chooser = () => screen.getByLabelText('Start from', { selector: 'input' })
  const choose = (file: File) => act(async () => fireEvent.change(chooser(), { target: { files: [file] } }))

  test('[R5.10] is judged by its content and its size, and goes along', async () => {
    const kept = { id: 'f0000000-0000-4000-8000-00000000000a', url: '/x', type: 'image/png', bytes: 11 }
    const { prompt, asked } = await open({ answers: { [uploadPicture.operation]: () => kept } })
    await choose(new File(['no picture'], 'words.png', { type: 'image/png' }))
    expect(await screen.findByText(/This model takes PNG/)).toBeTruthy()
    await choose(new File([PNG, new Uint8Array(1_000)], 'large.png'))
    expect(await screen.findByText('This picture is larger than the model takes')).toBeTruthy()
    // A few bytes that would be gigabytes to whoever decodes them.
    await choose(new File([pngHead(30_000, 30_000)], 'bomb.png'))
    expect(await screen.findByText(/more than 80 million pixels/)).toBeTruthy()
    expect(asked(uploadPicture.operation)).toEqual([])
    // Whatever it is called.
    await choose(new File([PNG], 'harbour.bin'))
    expect(await screen.findByRole('img', { name: 'Start from: harbour.bin' })).toBeTruthy()
    await userEvent.type(prompt, 'x')
    await userEvent.click(screen.getByRole('button', { name: 'Make 1 image' }))
    await waitFor(() => expect(made(asked)[0]?.body).toMatchObject({ image: kept.id }))
  })

  test('can be pasted while a prompt is typed; a guest is asked to log in first', async () => {
    const { prompt, asked } = await open({ user: { user: null } })
    await act(async () => fireEvent.paste(prompt, { clipboardData: { files: [new File([PNG], 'p.png')] } }))
    expect(await screen.findByRole('dialog')).toBeTruthy()
    expect(asked(uploadPicture.operation)).toEqual([])
  })
})

describe('what was made', () => {
  const RUN = madeRun({
    ...{ count: 2, cost_micro: '12000', negative_prompt: 'text', size: '768x512', seed: 11 },
    items: [madeItem(), failedItem({ id: 'i1', number: 1, seed: 12 })],
  })
  const withRun = (answers: Setup['answers'] = {}) =>
    open({ answers: { [listCreations.operation]: () => listOf([RUN]), ...answers } })
  const run = async () => within(await screen.findByRole('article', { name: 'A harbour' }))

  test('[B11] stands by runs with what each charged; what was not made keeps its place, is not charged and can be tried again', async () => {
    const { asked } = await withRun()
    const shown = await run()
    expect(shown.getByRole('status').textContent).toContain('1 of 2 made in 7.4 s · $0.012 charged')
    const [first, second] = shown.getAllByRole('listitem')
    expect(first?.textContent).toContain('11$0.012')
    expect(second?.textContent).toContain('The server ran out of memory. Not charged.')
    await userEvent.click(shown.getByRole('button', { name: 'Try again, $0.012' }))
    await waitFor(() => expect(asked(retryCreation.operation)[0]?.path).toContain('/item/i1/retry'))
  })

  test('its settings, or those of one picture with its seed, are put back into the form', async () => {
    const { prompt } = await withRun()
    const shown = await run()
    await userEvent.click(shown.getByRole('button', { name: 'Reuse settings' }))
    expect((prompt as HTMLTextAreaElement).value).toBe('A harbour')
    expect(screen.getByRole<HTMLInputElement>('textbox', { name: /^Leave out/ }).value).toBe('text')
    expect(group('Size').getByRole<HTMLInputElement>('radio', { name: '3 : 2' }).checked).toBe(true)
    expect(screen.getByRole('button', { name: 'Make 2 images' })).toBeTruthy()
    await userEvent.click(shown.getByRole('button', { name: 'Reuse' }))
    expect(screen.getByRole<HTMLInputElement>('textbox', { name: /^Seed/ }).value).toBe('11')
    expect(screen.getByRole('button', { name: 'Make 1 image' })).toBeTruthy()
  })

  test('pictures are saved as files, marked, started from, and deleted once that is confirmed', async () => {
    const { asked } = await withRun()
    const shown = await run()
    expect(shown.getByRole('link', { name: 'Download image 11' }).getAttribute('href')).toBe(
      '/gateway/creation-files/one?download',
    )
    await userEvent.click(shown.getByRole('button', { name: 'Mark with a star' }))
    await waitFor(() => expect(asked(starCreation.operation)[0]?.body).toEqual({ starred: true }))
    await userEvent.click(shown.getByRole('button', { name: 'Start the next images from this one' }))
    expect(await screen.findByRole('img', { name: 'Start from: seed 11' })).toBeTruthy()
    await userEvent.click(shown.getByRole('button', { name: 'More for this run' }))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Delete' }))
    const dialog = within(await screen.findByRole('dialog'))
    expect(asked(deleteCreation.operation)).toEqual([])
    await userEvent.click(dialog.getByRole('button', { name: 'Delete' }))
    await waitFor(() => expect(asked(deleteCreation.operation)).toHaveLength(1))
  })

  test('a video begins with one, where a model makes videos after pictures', async () => {
    const films = madeModel({ ...SD, id: 'wan', name: 'Wan', kind: 'video', video_seconds: [2] })
    const { page } = await open({
      models: [SD, films],
      answers: { [listCreations.operation]: () => listOf([RUN]) },
    })
    await userEvent.click((await run()).getByRole('button', { name: 'Make a video that begins with it' }))
    await waitFor(() => expect(page.path()).toBe('/video-model'))
    expect(sessionStorage.getItem('berth.video-model.draft')).toContain('"name":"seed 11"')
  })

  test('all of them are saved as one file, for which an address is asked when it is wanted', async () => {
    const { asked } = await withRun({
      [creationArchive.operation]: () => ({ url: null, files: 0, bytes: 0 }),
    })
    await run()
    expect(asked(creationArchive.operation)).toEqual([])
    await userEvent.click(screen.getByRole('button', { name: 'Download all' }))
    await waitFor(() => expect(asked(creationArchive.operation)[0]?.path).toContain('kind=image'))
  })

  test('[B11] its code makes the same by a program', async () => {
    await withRun()
    await userEvent.click((await run()).getByRole('button', { name: 'Code' }))
    const code = await screen.findByRole('region', { name: 'cURL' })
    for (const part of ['/v1/images/generations', '"A harbour"', '"negative_prompt": "text"', '"seed": 11'])
      expect(code.textContent).toContain(part)
  })

  test('one that is under way says how many are before it, and is looked at until it is there', async () => {
    let now = madeRun({ cost_micro: '0', items: [openItem({ waiting_before: 2 })] })
    await open({
      answers: { [listCreations.operation]: () => listOf([now]), [getCreation.operation]: () => now },
    })
    const shown = await run()
    expect(await shown.findByText('2 before it')).toBeTruthy()
    expect(shown.getByRole('button', { name: 'Stop' })).toBeTruthy()
    now = madeRun()
    expect(await shown.findByRole('img', { name: 'A harbour (seed 11)' }, { timeout: 10_000 })).toBeTruthy()
    expect(shown.queryByRole('button', { name: 'Stop' })).toBeNull()
  })

  test('one is looked at large, with its seed and what it cost; arrows lead to the others of its run that were made', async () => {
    const three = madeRun({
      items: [madeItem(), failedItem({ id: 'i1', number: 1, seed: 12 }), madeItem({ id: 'i2', seed: 13 })],
    })
    const { prompt } = await open({ answers: { [listCreations.operation]: () => listOf([three]) } })
    const picture = () => screen.getByRole('button', { name: 'A harbour (seed 11)' })
    await run()
    await userEvent.click(picture())
    const dialog = within(await screen.findByRole('dialog', { name: 'A harbour' }))
    expect(dialog.getByRole('status').textContent).toBe('1 of 2')
    expect(dialog.getByText('seed 11 · 512 × 512 · $0.012 charged')).toBeTruthy()
    await userEvent.keyboard('{ArrowRight}')
    expect(dialog.getByRole('img', { name: 'A harbour (seed 13)' })).toBeTruthy()
    // After the last one comes the first.
    await userEvent.click(dialog.getByRole('button', { name: 'Next image' }))
    expect(dialog.getByRole('link', { name: 'Download image 11' })).toBeTruthy()
    await userEvent.keyboard('{ArrowLeft}{Escape}')
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    await waitFor(() => expect(document.activeElement).toBe(picture()))
    await userEvent.click(picture())
    await userEvent.click(
      within(await screen.findByRole('dialog', { name: 'A harbour' })).getByRole('button', { name: 'Reuse' }),
    )
    expect((prompt as HTMLTextAreaElement).value).toBe('A harbour')
    expect(screen.getByRole<HTMLInputElement>('textbox', { name: /^Seed/ }).value).toBe('11')
  })

  test('a filter shows the pictures that it names, and how many of the run those are', async () => {
    const starred = madeRun({
      items: [
        madeItem(),
        failedItem({ id: 'i1', number: 1, seed: 12 }),
        madeItem({ id: 'i2', seed: 13, starred: true }),
      ],
    })
    await open({ answers: { [listCreations.operation]: () => listOf([starred]) } })
    expect((await run()).queryByText(/shown/)).toBeNull()
    await userEvent.click(group('Show').getByRole('radio', { name: /Starred/ }))
    await waitFor(async () => expect((await run()).getAllByRole('listitem')).toHaveLength(1))
    expect((await run()).getByRole('img', { name: 'A harbour (seed 13)' })).toBeTruthy()
    expect((await run()).getByRole('status').textContent).toContain('1 of 3 shown')
    await userEvent.click(group('Show').getByRole('radio', { name: /Not made/ }))
    expect(await (await run()).findByText(/^The server ran out of memory/)).toBeTruthy()
    expect((await run()).queryByRole('img')).toBeNull()
  })

  test('filters that leave nothing say so, and lead back to all', async () => {
    const { page } = await open({
      answers: {
        [listCreations.operation]: ({ path }) =>
          path.includes('show=starred') ? listOf([], { counts: listOf([RUN]).counts }) : listOf([RUN]),
      },
    })
    await run()
    await userEvent.click(group('Show').getByRole('radio', { name: /Starred/ }))
    expect(await screen.findByText('Nothing that was made matches')).toBeTruthy()
    expect(page.search()).toBe('?show=starred')
    await userEvent.click(screen.getByRole('button', { name: 'Show all' }))
    await run()
  })

  test('a list that cannot be had says why, and is asked for again', async () => {
    let isDown = true
    await open({
      answers: {
        [listCreations.operation]: () => (isDown ? new Refusal([], 'not_found', 404) : listOf([RUN])),
      },
    })
    const again = await screen.findByRole('button', { name: 'Try again' })
    isDown = false
    await userEvent.click(again)
    await run()
  })
})
