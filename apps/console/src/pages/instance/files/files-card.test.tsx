import {
  type FileEntry,
  listFiles,
  makeFolder,
  planUpload,
  removeFile,
  startFileDownload,
  uploadPiece,
} from '@berth/contract/files'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal, type Sent } from '../../../gateway-fixture.tsx'
import { madeInstance } from '../../../instances/instance-fixture.ts'
import { FilesCard } from './FilesCard.tsx'

const entry = (name: string, about: Partial<FileEntry> = {}): FileEntry => ({
  name,
  kind: 'file',
  is_link: false,
  size: 1_234,
  modified_at: '2026-11-20T12:00:00.000Z',
  mode: '0644',
  can_be_named: true,
  ...about,
})
const ENTRIES = [
  entry('notes.txt'),
  entry('data', { kind: 'folder' }),
  entry('.hidden'),
  entry('x\ufffd', { can_be_named: false }),
]
const queryOf = ({ path }: Sent) => new URL(path, 'http://console').searchParams
const listing = (sent: Sent) => {
  const path = queryOf(sent).get('path') ?? '/root'
  return { path, entries: path === '/root' ? ENTRIES : [entry('<img src=x>')], next: null }
}
const running = madeInstance({ status: 'running' })

/** A file of so many bytes, as somebody drops it. */
const file = (name: string, size: number) =>
  new File([new Uint8Array(size)], name, { lastModified: 1_700_000_000_000 })

interface Planned {
  files: { path: string; size: number }[]
}
/** A machine that has nothing of any file, and takes whatever comes. */
const taking = {
  [listFiles.operation]: listing,
  [planUpload.operation]: ({ body }: Sent) => ({
    files: (body as Planned).files.map(({ path }) => ({
      path,
      existing: null,
      is_same: false,
      have_bytes: 0,
    })),
  }),
  [uploadPiece.operation]: (sent: Sent) => taken(queryOf(sent)),
}
function taken(query: URLSearchParams) {
  const have = Number(query.get('offset')) + Number(query.get('length'))
  return { have_bytes: have, is_done: have === Number(query.get('size')) }
}

async function open(answers: Parameters<typeof answerCalls>[0], instance = running, options = {}) {
  const calls = await answerCalls({ [listFiles.operation]: listing, ...answers }, options)
  await renderInPage(
    () => (
      <InShell>
        <FilesCard instance={instance} />
      </InShell>
    ),
    { namespaces: ['files', 'instances'] },
  )
  const of = (operation: string) => calls.sent.filter(one => one.operation === operation)
  return { ...calls, of }
}
async function browse(answers: Parameters<typeof answerCalls>[0] = {}) {
  const opened = await open(answers)
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Open files' })))
  await screen.findByText('notes.txt')
  return opened
}
const dropped = (...files: File[]) => ({
  dataTransfer: {
    types: ['Files'],
    files,
    items: files.map(() => ({ kind: 'file', webkitGetAsEntry: () => null })),
  },
})
const drop = (...files: File[]) =>
  act(async () => fireEvent.drop(screen.getByRole('region', { name: 'Files' }), dropped(...files)))

test('[B19] nothing is asked of a machine until somebody opens its files', async () => {
  const { of } = await open({})
  expect(of(listFiles.operation)).toEqual([])
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Open files' })))
  expect(await screen.findByText('notes.txt')).toBeTruthy()
  // Folders first, hidden ones not at all.
  const names = screen.getAllByRole('row').map(row => row.textContent ?? '')
  expect(names.findIndex(text => text.includes('data'))).toBeLessThan(
    names.findIndex(text => text.includes('notes')),
  )
  expect(screen.queryByText('.hidden')).toBeNull()
  await act(async () => fireEvent.click(screen.getByLabelText('Show hidden files')))
  expect(screen.getByText('.hidden')).toBeTruthy()
})

test('[B19] folders are entered and left by their names, which are text whatever they hold', async () => {
  await browse()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'data' })))
  expect(await screen.findByText('<img src=x>')).toBeTruthy()
  expect(document.querySelector('img')).toBeNull()
  const crumbs = screen.getByRole('navigation', { name: 'Folders on the way here' })
  expect(
    within(crumbs)
      .getAllByRole('button')
      .map(({ textContent }) => textContent),
  ).toEqual(['/', 'root', 'data'])
  await act(async () => fireEvent.click(within(crumbs).getByRole('button', { name: 'root' })))
  expect(await screen.findByText('notes.txt')).toBeTruthy()
})

test('[B19] files that are dropped are sent to the folder that is shown, in pieces that say where they belong', async () => {
  const { of } = await browse(taking)
  const region = screen.getByRole('region', { name: 'Files' })
  await act(async () => fireEvent.dragEnter(region, dropped()))
  expect(screen.getByText('Drop to upload to /root')).toBeTruthy()
  await drop(file('model.bin', 2_500_000), file('empty', 0))
  const uploads = await screen.findByRole('region', { name: 'Uploads' })
  await waitFor(() => expect(within(uploads).getAllByText('Done').length).toBe(2))
  const pieces = of(uploadPiece.operation).map(queryOf)
  expect(new Set(pieces.map(query => query.get('path')))).toEqual(new Set(['/root/model.bin', '/root/empty']))
  const model = pieces.filter(query => query.get('path') === '/root/model.bin')
  expect(model.length).toBeGreaterThan(1)
  expect(model.reduce((sum, query) => sum + Number(query.get('length')), 0)).toBe(2_500_000)
  expect(within(uploads).getByText('2 of 2 files, 2.5 MB of 2.5 MB')).toBeTruthy()
})

test('[B19] a line that broke is tried again, from what the machine has by then', async () => {
  let tries = 0
  let have = 0
  const { of } = await browse({
    ...taking,
    [planUpload.operation]: ({ body }: Sent) => ({
      files: (body as Planned).files.map(({ path }) => ({
        path,
        existing: null,
        is_same: false,
        have_bytes: have,
      })),
    }),
    [uploadPiece.operation]: (sent: Sent) => {
      tries++
      if (tries > 1) return taken(queryOf(sent))
      have = 700_000
      throw new TypeError('the line broke')
    },
  })
  await drop(file('model.bin', 1_000_000))
  expect(await screen.findByText(/Tried again in a moment/)).toBeTruthy()
  await act(async () => fireEvent(window, new Event('online')))
  expect(await screen.findByText('Done')).toBeTruthy()
  const last = of(uploadPiece.operation).map(queryOf).at(-1)
  expect([last?.get('offset'), last?.get('length')]).toEqual(['700000', '300000'])
})

test('[B19] an upload is paused, goes on, and is cancelled', async () => {
  const gate = Promise.withResolvers<void>()
  const { of } = await browse({
    ...taking,
    [uploadPiece.operation]: async (sent: Sent) => {
      await gate.promise
      return taken(queryOf(sent))
    },
  })
  await drop(file('a.bin', 1_000), file('b.bin', 1_000))
  await act(async () => fireEvent.click(await screen.findByRole('button', { name: 'Pause a.bin' })))
  expect(screen.getByText(/Paused/)).toBeTruthy()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Cancel b.bin' })))
  expect(screen.queryByText('b.bin')).toBeNull()
  gate.resolve()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Go on with a.bin' })))
  expect(await screen.findByText('Done')).toBeTruthy()
  expect(of(uploadPiece.operation).filter(one => queryOf(one).get('path') === '/root/a.bin').length).toBe(2)
})

test.each([
  ['Replace', [['/root/notes.txt', 'true']]],
  ['Keep both', [['/root/notes (2).txt', 'false']]],
  ['Skip', []],
] as const)('[B19] where a file of that name stands, its customer decides: %s', async (how, sent) => {
  const { of } = await browse({
    ...taking,
    [planUpload.operation]: ({ body }: Sent) => ({
      files: (body as Planned).files.map(({ path }) => ({
        path,
        existing: path === '/root/notes.txt' ? entry('notes.txt') : null,
        is_same: false,
        have_bytes: 0,
      })),
    }),
  })
  await drop(file('notes.txt', 10))
  const dialog = await screen.findByRole('dialog', { name: 'A file of this name is there already' })
  expect(of(uploadPiece.operation)).toEqual([])
  await act(async () => fireEvent.click(within(dialog).getByRole('button', { name: how })))
  expect(await screen.findByText(how === 'Skip' ? 'Skipped' : 'Done')).toBeTruthy()
  expect(
    of(uploadPiece.operation)
      .map(queryOf)
      .map(query => [query.get('path'), query.get('replace')]),
  ).toEqual(sent)
})

test('[B19] what cannot be uploaded says why, and may be tried again', async () => {
  let isFull = true
  await browse({
    ...taking,
    [uploadPiece.operation]: (sent: Sent) =>
      isFull ? new Refusal([], 'file_no_room', 409) : taken(queryOf(sent)),
  })
  await drop(file('big.bin', 10))
  expect(await screen.findByText('refused: file_no_room')).toBeTruthy()
  isFull = false
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Try big.bin again' })))
  expect(await screen.findByText('Done')).toBeTruthy()
})

test('[B19] a file is saved by an address that opens once', async () => {
  const { of } = await browse({
    [startFileDownload.operation]: () => ({
      path: '/gateway/file-download/secret',
      name: 'notes.txt',
      expires_at: '2026-11-20T12:00:30.000Z',
    }),
  })
  const links: string[] = []
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    links.push(`${this.getAttribute('href')} ${this.download}`)
  })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'notes.txt' })))
  await waitFor(() => expect(links).toEqual(['/gateway/file-download/secret notes.txt']))
  expect(of(startFileDownload.operation)[0]?.body).toEqual({ path: '/root/notes.txt' })
  click.mockRestore()
})

test('[B19] a folder is made by its name, and a refusal keeps what was typed', async () => {
  let isRefused = true
  const { of } = await browse({
    [makeFolder.operation]: () => (isRefused ? new Refusal([], 'file_exists', 409) : { path: '/root/new' }),
  })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'New folder' })))
  const name = await screen.findByLabelText('Name')
  const make = async (typed: string) => {
    await act(async () => fireEvent.change(name, { target: { value: typed } }))
    await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Make the folder' })))
  }
  await make('a/b')
  expect(of(makeFolder.operation)).toEqual([])
  await make('new')
  expect(await screen.findByText('refused: file_exists')).toBeTruthy()
  expect((name as HTMLInputElement).value).toBe('new')
  isRefused = false
  await make('new')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  expect(of(makeFolder.operation).at(-1)?.body).toEqual({ path: '/root/new' })
})

test('[B19] a folder goes only when that was confirmed', async () => {
  const { of } = await browse({ [removeFile.operation]: () => ({ path: '/root/data' }) })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'All actions of data' })))
  const remove = await screen.findByRole('menuitem', { name: 'Delete' })
  await act(async () => fireEvent.click(remove))
  const dialog = await screen.findByRole('dialog', { name: 'Delete data?' })
  expect(of(removeFile.operation)).toEqual([])
  await act(async () => fireEvent.click(within(dialog).getByRole('button', { name: 'Delete' })))
  await waitFor(() =>
    expect(of(removeFile.operation)[0]?.body).toEqual({ path: '/root/data', with_content: true }),
  )
})

test.each([
  [
    'one that does not run',
    madeInstance({ status: 'stopped' }),
    {},
    'Files can be reached while the instance runs.',
  ],
  [
    'a customer without a verified address',
    running,
    { user: customer({ emailVerified: false }) },
    /not activated/,
  ],
] as const)(
  '[B19] [R4.2] of %s it is said why there are no files',
  async (_who, instance, options, words) => {
    await open({}, instance, options)
    expect(await screen.findByText(words)).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Open files' })).toBeNull()
  },
)

test('[B19] what goes wrong with a folder is said, with a way out', async () => {
  await open({ [listFiles.operation]: () => new Refusal([], 'files_no_shell', 409) })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Open files' })))
  expect(await screen.findByText('refused: files_no_shell')).toBeTruthy()
  expect(screen.getByRole('alert')).toBeTruthy()
})

/** A file or folder as a browser hands it over at a drop; null where it may not be read. */
type Dropped = File | Record<string, unknown> | null
function entryOf(name: string, held: unknown, parent = ''): unknown {
  const fullPath = `${parent}/${name}`
  const refuse = (_: unknown, reject: (error: Error) => void) => reject(new Error('NotReadableError'))
  if (held === null) return { isFile: true, isDirectory: false, fullPath, file: refuse }
  if (held instanceof File) {
    return { isFile: true, isDirectory: false, fullPath, file: (give: (file: File) => void) => give(held) }
  }
  const all = Object.entries(held as object).map(([below, what]) => entryOf(below, what, fullPath))
  return {
    isFile: false,
    isDirectory: true,
    fullPath,
    createReader: () => ({
      // A browser gives a few at a time, and none at the end.
      readEntries: (give: (entries: unknown[]) => void) => give(all.splice(0, 2)),
    }),
  }
}
const dropFolders = (folders: Record<string, Dropped>) =>
  act(async () =>
    fireEvent.drop(screen.getByRole('region', { name: 'Files' }), {
      dataTransfer: {
        types: ['Files'],
        files: [],
        items: Object.entries(folders).map(([name, held]) => ({
          kind: 'file',
          webkitGetAsEntry: () => entryOf(name, held),
        })),
      },
    }),
  )

test('[B19] a folder that is dropped is sent with all that it holds, in its folders, and empty ones are made', async () => {
  const { of } = await browse(taking)
  await dropFolders({
    model: {
      'config.json': file('config.json', 10),
      weights: {
        'a.bin': file('a.bin', 20),
        'b.bin': file('b.bin', 30),
        deep: { 'c.bin': file('c.bin', 40) },
      },
      cache: {},
    },
    'notes.md': file('notes.md', 5),
  })
  const below = [
    'model/config.json',
    'model/weights/a.bin',
    'model/weights/b.bin',
    'model/weights/deep/c.bin',
  ]
  const sent = () => of(uploadPiece.operation).map(one => queryOf(one).get('path'))
  await waitFor(() =>
    expect(sent().toSorted()).toEqual([...below, 'notes.md'].map(place => `/root/${place}`).toSorted()),
  )
  expect(of(makeFolder.operation).map(({ body }) => body)).toEqual([{ path: '/root/model/cache' }])
})

test('[B19] a file that cannot be read is named, and keeps nothing else back', async () => {
  const { of } = await browse(taking)
  await dropFolders({ model: { 'secret.key': null, 'a.bin': file('a.bin', 20) }, 'z.bin': file('z.bin', 5) })
  const sent = () => of(uploadPiece.operation).map(one => queryOf(one).get('path'))
  await waitFor(() => expect(sent().toSorted()).toEqual(['/root/model/a.bin', '/root/z.bin']))
  expect(screen.getByText('Could not be read and left out (1): model/secret.key')).toBeTruthy()
})
