import { getSettings } from '@berth/contract/account'
import { coverUrlOf } from '@berth/contract/covers'
import { createImage, uploadCover } from '@berth/contract/own-images'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, onTestFinished, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { type Answers, answerCalls, customer, InShell, Refusal, type Sent } from '../gateway-fixture.tsx'
import { madeInstance } from '../instances/instance-fixture.ts'
import { sampleOf } from '../schema-fixture.ts'
import { ImageMark } from './ImageMark.tsx'
import { ImageSheet } from './ImageSheet.tsx'
import { madeImage } from './image-fixture.ts'

const COVER = 'c'.repeat(64)
const OTHER = 'd'.repeat(64)
const kept = (cover: string) => ({ cover, width: 1_200, height: 630, cover_url: coverUrlOf(cover) })
const file = (text: string, name = 'cover.png', type = 'image/png') =>
  new File([Uint8Array.from(text, sign => sign.charCodeAt(0))], name, { type })
const png = (name = 'cover.png') => file('\x89PNG\r\n\x1a\n and more', name)

/** The browser draws what it is given as so many pixels; jsdom draws nothing. */
function drawsAs([width, height]: readonly number[]): void {
  globalThis.createImageBitmap = async () => ({ width, height, close: () => undefined }) as ImageBitmap
  onTestFinished(() => {
    Reflect.deleteProperty(globalThis, 'createImageBitmap')
  })
}

async function open(answers: Answers = {}, user = customer()) {
  const { sent } = await answerCalls({ [uploadCover.operation]: () => kept(COVER), ...answers }, { user })
  await renderInPage(
    () => (
      <InShell>
        <ImageSheet
          about={{ task: 'instance', instance: madeInstance({}) }}
          opened
          onClose={() => undefined}
        />
      </InShell>
    ),
    { namespaces: ['images', 'image-form'] },
  )
  const group = await screen.findByRole('group', { name: 'Cover' })
  const input = group.querySelector('input[type=file]') as HTMLInputElement
  const pick = (one: File) => act(async () => fireEvent.change(input, { target: { files: [one] } }))
  return {
    sent,
    group,
    input,
    pick,
    of: (one: { operation: string }) => sent.filter(({ operation }) => operation === one.operation),
  }
}
const shown = () => screen.findByRole('img', { name: 'Cover' })
const noneShown = () => expect(screen.queryByRole('img', { name: 'Cover' })).toBeNull()

describe('the cover of an image in its form', () => {
  test('[R5.6] one that is chosen is sent as it is, shown as it is kept, and goes with the form', async () => {
    const { pick, of, input } = await open()
    expect(input.accept).toBe('image/png,image/jpeg,image/webp,image/gif,image/avif')
    await pick(png())
    const picture = await shown()
    expect(picture.getAttribute('src')).toBe(coverUrlOf(COVER))
    Object.defineProperty(picture, 'naturalWidth', { value: 1_200 })
    Object.defineProperty(picture, 'naturalHeight', { value: 630 })
    fireEvent.load(picture)
    expect(await screen.findByText('1200 × 630 pixels')).toBeTruthy()
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'llama' } })
    fireEvent.change(screen.getByLabelText('Description'), { target: { value: 'Llama.' } })
    fireEvent.change(screen.getByLabelText('README', { selector: 'textarea' }), { target: { value: '# A' } })
    await userEvent.click(screen.getByRole('checkbox', { name: 'training' }))
    await userEvent.click(screen.getByRole('button', { name: 'Build image' }))
    await waitFor(() => expect(of(createImage)[0]?.body).toMatchObject({ name: 'llama', cover: COVER }))
    expect(of(uploadCover)).toHaveLength(1)
  })

  test('[R5.6] one is dropped, or pasted where nobody types, and the newest counts', async () => {
    const covers = [COVER, OTHER]
    const { group, of } = await open({ [uploadCover.operation]: () => kept(covers.shift() ?? '') })
    const dataTransfer = { types: ['Files'], files: [png('dropped.png')] }
    await act(async () => fireEvent.dragEnter(group, { dataTransfer }))
    expect(screen.getByText('Let go to take it as the cover')).toBeTruthy()
    await act(async () => fireEvent.drop(group, { dataTransfer }))
    expect((await shown()).getAttribute('src')).toBe(coverUrlOf(COVER))
    const clipboardData = { files: [png('pasted.png')] }
    // Into a text it is none of ours.
    await act(async () => fireEvent.paste(screen.getByLabelText('Name'), { clipboardData }))
    expect(of(uploadCover)).toHaveLength(1)
    await act(async () =>
      fireEvent.paste(screen.getByRole('button', { name: 'Choose another' }), { clipboardData }),
    )
    await waitFor(() =>
      expect(screen.getByRole('img', { name: 'Cover' }).getAttribute('src')).toBe(coverUrlOf(OTHER)),
    )
  })

  test.each([
    [
      'an SVG',
      file('<svg xmlns="http://www.w3.org/2000/svg"/>', 'a.svg', 'image/svg+xml'),
      null,
      /^A cover is a PNG/,
    ],
    ['HTML that is called a PNG', file('<!doctype html>', 'a.png'), null, /^A cover is a PNG/],
    ['too many bytes', file(`\x89PNG\r\n\x1a\n${' '.repeat(5_000_000)}`), null, /at most 5 MB/],
    ['one that is too small', png(), [95, 400], /at least 96 pixels wide and high/],
    ['too many pixels', png(), [6_000, 4_001], /at most 24 million pixels/],
  ])(
    '[R5.6] %s is refused at the field before it is sent, and the one before stays',
    async (_, wrong, size, says) => {
      const { pick, of } = await open()
      await pick(png())
      await shown()
      if (size) drawsAs(size)
      await pick(wrong)
      expect(await screen.findByText(says)).toBeTruthy()
      const button = screen.getByRole('button', { name: 'Choose another' })
      expect(button.getAttribute('aria-invalid')).toBe('true')
      const note = document.getElementById(button.getAttribute('aria-describedby') ?? '')
      expect(note?.textContent).toMatch(says)
      expect(of(uploadCover)).toHaveLength(1)
      expect((await shown()).getAttribute('src')).toBe(coverUrlOf(COVER))
    },
  )

  test('[R5.6] what the gateway finds wrong is said there, what was typed stays, and another one is taken', async () => {
    const answers = [
      () => new Refusal([{ path: 'cover', msg: 'It could not be read.' }]),
      () => new Refusal([], 'too_many_requests', 429),
      () => kept(COVER),
    ]
    const { pick } = await open({ [uploadCover.operation]: () => answers.shift()?.() })
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'llama' } })
    await pick(png())
    expect(await screen.findByText('It could not be read.')).toBeTruthy()
    noneShown()
    await pick(png())
    expect(await screen.findByText('refused: too_many_requests')).toBeTruthy()
    await pick(png())
    await shown()
    expect(screen.queryByText(/^refused/)).toBeNull()
    expect((screen.getByLabelText('Name') as HTMLInputElement).value).toBe('llama')
  })

  test('[R5.6] while one is on its way that is said, and the form waits for it', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { pick } = await open({ [uploadCover.operation]: () => promise })
    await pick(png())
    expect((await screen.findByText('Sending cover.png…')).getAttribute('role')).toBe('status')
    expect((screen.getByRole('button', { name: 'Build image' }) as HTMLButtonElement).disabled).toBe(true)
    await act(async () => resolve(kept(COVER)))
    await shown()
    expect((screen.getByRole('button', { name: 'Build image' }) as HTMLButtonElement).disabled).toBe(false)
  })

  test('[R5.6] one is removed, from the keyboard too, and comes back with the form otherwise', async () => {
    const { pick } = await open()
    await pick(png())
    await shown()
    screen.getByRole('button', { name: 'Remove' }).focus()
    await userEvent.keyboard('{Enter}')
    noneShown()
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Choose a picture' }))
  })

  test('[R5.6] [R4.2] nobody sends one without a verified account', async () => {
    const { group } = await open({}, customer({ emailVerified: false }))
    expect((group.querySelector('[data-path=cover]') as HTMLButtonElement).disabled).toBe(true)
    expect(group.textContent).toContain('The account is not activated.')
  })
})

describe('a cover on a page', () => {
  const draw = async (brand: object = {}) => {
    const settings = sampleOf(getSettings.data) as { brand: object }
    await answerCalls({
      [getSettings.operation]: (_: Sent) => ({
        ...settings,
        brand: { ...settings.brand, image_storage_url: null, ...brand },
      }),
    })
    const image = madeImage({ cover: COVER, cover_url: coverUrlOf(COVER) })
    await renderInPage(
      () => (
        <InShell>
          <ImageMark image={image} />
        </InShell>
      ),
      { namespaces: ['images'] },
    )
    const picture = () => document.querySelector('img')
    await waitFor(() => expect(picture()).not.toBeNull())
    return picture
  }

  test('[R1.10] comes from the gateway where the brand has no image storage', async () => {
    const picture = await draw()
    expect(picture()?.getAttribute('src')).toBe(coverUrlOf(COVER))
  })

  test.each(['https://images.north.example', 'https://images.north.example/'])(
    '[R1.10] comes from the image storage of the brand: %s',
    async image_storage_url => {
      const picture = await draw({ image_storage_url })
      expect(picture()?.getAttribute('src')).toBe(`https://images.north.example${coverUrlOf(COVER)}`)
    },
  )

  test('[R5.6] where none comes, the sign of what the image is for stands there', async () => {
    const picture = await draw()
    fireEvent.error(picture() as HTMLImageElement)
    expect(picture()).toBeNull()
    expect(document.querySelector('svg')).not.toBeNull()
  })
})
