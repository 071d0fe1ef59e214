import { type CustomImage, customImages, getBuildLog, type ImageBuildLog } from '@berth/contract/images'
import { cancelImageBuild, createImage } from '@berth/contract/own-images'
import { allRegions } from '@berth/contract/regions'
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../gateway-fixture.tsx'
import { ImageSheet } from './ImageSheet.tsx'
import { madeOwnImage } from './image-fixture.ts'
import type { SheetTask } from './sheet-task.ts'

const DOCKERFILE = 'FROM debian:12\nRUN echo made > /made\n'
const GIT = { url: 'https://git.example.org/owner/name.git', ref: 'main', folder: 'services/api' }

/** An image of a Dockerfile of which one step of three is done. */
const building = (part: Partial<CustomImage> = {}) =>
  madeOwnImage({
    name: 'made-image',
    status: 'building',
    source: {
      ...{ instance_id: null, instance_name: null, image_reference: null, git: null },
      dockerfile: DOCKERFILE,
    },
    progress: { step: 'building', bytes_done: 0, bytes_total: null, build_steps: { done: 1, total: 3 } },
    ...part,
  })

const NO_LINES: ImageBuildLog = { lines: [], next: 0, skipped: 0, more: false }

async function open(answers: Answers = {}, about: SheetTask = { task: 'dockerfile' }) {
  const { sent } = await answerCalls({
    [allRegions.operation]: () => [{ code: 'us-west', name: 'us-west', enabled: true }],
    [customImages.operation]: () => [building()],
    [getBuildLog.operation]: () => NO_LINES,
    ...answers,
  })
  const show = () =>
    renderInPage(
      () => (
        <InShell>
          <ImageSheet about={about} opened onClose={() => undefined} />
        </InShell>
      ),
      { namespaces: ['images', 'image-form', 'instances'] },
    )
  await show()
  return {
    again: async () => {
      cleanup()
      await show()
    },
    of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation),
  }
}

const fieldAt = (label: string) =>
  screen.findByLabelText<HTMLInputElement>(label, { selector: 'input, textarea' })
const type = async (label: string, value: string) =>
  fireEvent.change(await fieldAt(label), { target: { value } })
const choose = (way: string) => userEvent.click(screen.getByRole('radio', { name: way }))
const build = () => userEvent.click(screen.getByRole('button', { name: 'Build image' }))

async function describeImage(): Promise<void> {
  await type('Name', 'made-image')
  await type('Description', 'Made of a file.')
  await type('README', '# What it is')
  await userEvent.click(screen.getByRole('checkbox', { name: 'training' }))
}

async function typeRepository(): Promise<void> {
  await choose('In a repository')
  await type('Repository', GIT.url)
  await type('Branch, tag or commit', GIT.ref)
  await type('Folder', GIT.folder)
}

test('[R2.24] [R5.5] a pasted Dockerfile is sent as it stands, and its steps and what they write follow', async () => {
  const { of } = await open({
    [createImage.operation]: () => building(),
    [getBuildLog.operation]: () => ({
      lines: ['Step 1/3: FROM debian:12'],
      next: 1,
      skipped: 0,
      more: false,
    }),
  })
  await type('Dockerfile', DOCKERFILE)
  await describeImage()
  await build()
  await waitFor(() => expect(of(createImage)).toHaveLength(1))
  expect(of(createImage)[0]?.body).toMatchObject({
    ...{ dockerfile: DOCKERFILE, git: null, image_reference: null, instance_id: null },
    ...{ registry_credential_id: null, name: 'made-image', region_code: 'us-west' },
  })
  expect(await screen.findByText('1 of 3 steps done')).toBeTruthy()
  expect(screen.getByText('33%')).toBeTruthy()
  expect(screen.getByText('Following the Dockerfile').closest('li')?.getAttribute('aria-current')).toBe(
    'step',
  )
  expect(await screen.findByText('Step 1/3: FROM debian:12')).toBeTruthy()
})

test('[R5.5] a repository is sent with its branch and folder, and a Dockerfile that was pasted before is there again', async () => {
  const { of } = await open({ [createImage.operation]: () => building() })
  await type('Dockerfile', DOCKERFILE)
  await typeRepository()
  await choose('Paste it')
  expect((await fieldAt('Dockerfile')).value).toBe(DOCKERFILE)
  await choose('In a repository')
  expect((await fieldAt('Folder')).value).toBe(GIT.folder)
  await describeImage()
  await build()
  await waitFor(() => expect(of(createImage)).toHaveLength(1))
  expect(of(createImage)[0]?.body).toMatchObject({ dockerfile: null, git: GIT })
})

test('[R5.5] an empty Dockerfile and an address that is none are said at their fields, and nothing is sent', async () => {
  const { of } = await open()
  await describeImage()
  await build()
  expect((await fieldAt('Dockerfile')).getAttribute('aria-invalid')).toBe('true')
  await choose('In a repository')
  await type('Repository', 'git@example.org:owner/name')
  await type('Folder', '../outside')
  await build()
  for (const label of ['Repository', 'Folder'])
    expect((await fieldAt(label)).getAttribute('aria-invalid'), label).toBe('true')
  expect(of(createImage)).toEqual([])
})

test('what cannot be followed is said at the Dockerfile, and nothing that was typed is lost', async () => {
  await open({
    [createImage.operation]: () => new Refusal([{ path: 'dockerfile', msg: 'Line 2: ADD is not offered.' }]),
  })
  await type('Dockerfile', 'FROM debian:12\nADD https://example.org/ /')
  await describeImage()
  await build()
  expect(await screen.findByText('Line 2: ADD is not offered.')).toBeTruthy()
  const field = await fieldAt('Dockerfile')
  expect([field.value, field.getAttribute('aria-invalid')]).toEqual([
    'FROM debian:12\nADD https://example.org/ /',
    'true',
  ])
  expect((await fieldAt('Name')).value).toBe('made-image')
})

test('a repository that was typed outlives the page that it was typed in', async () => {
  const { again } = await open()
  await typeRepository()
  await again()
  expect((await fieldAt('Repository')).value).toBe(GIT.url)
  expect((await fieldAt('Folder')).value).toBe(GIT.folder)
})

test('what its steps write is read on where it was left, until no more comes', async () => {
  const pages: Record<string, ImageBuildLog> = {
    '0': { lines: ['one', 'two'], next: 2, skipped: 0, more: true },
    '2': { lines: ['three'], next: 3, skipped: 2, more: false },
    '3': { lines: [], next: 3, skipped: 3, more: false },
  }
  const { of } = await open(
    {
      [getBuildLog.operation]: ({ path }) =>
        pages[new URL(path, location.href).searchParams.get('after') ?? '0'],
    },
    { task: 'progress', image: building() },
  )
  await screen.findByText('three')
  const log = within(screen.getByRole('region', { name: 'What its steps write' }))
  expect(['one', 'two', 'three'].map(line => log.getAllByText(line).length)).toEqual([1, 1, 1])
  await waitFor(() => expect(of(getBuildLog).at(-1)?.path).toContain('after=3'))
})

test('[R4.8] a build that failed says which step and why, and what its steps wrote stays', async () => {
  const failed = building({
    status: 'failed',
    progress: null,
    reason: { code: 'step_failed', detail: 'RUN false ended with 1' },
  })
  await open(
    {
      [customImages.operation]: () => [failed],
      [getBuildLog.operation]: () => ({ lines: ['no such file'], next: 1, skipped: 0, more: false }),
    },
    { task: 'progress', image: failed },
  )
  expect(await screen.findByText('A step of its Dockerfile failed.')).toBeTruthy()
  expect(screen.getByText('RUN false ended with 1')).toBeTruthy()
  expect(await screen.findByText('no such file')).toBeTruthy()
  expect(screen.queryByRole('button', { name: 'Cancel build' })).toBeNull()
})

test('a build is given up from its progress', async () => {
  const { of } = await open(
    { [cancelImageBuild.operation]: () => building() },
    { task: 'progress', image: building() },
  )
  expect(await screen.findByText('Nothing is written yet.')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Cancel build' }))
  await waitFor(() => expect(of(cancelImageBuild)).toHaveLength(1))
  expect(of(cancelImageBuild)[0]?.path).toContain('im-000001')
})
