/** A file that somebody chose or dropped, by its place below where it is to go. */
export interface ChosenFile {
  file: File
  /** `photos/2026/one.jpg`; the name alone where it came by itself. */
  place: string
}

/** What was chosen: files, and folders that hold none. */
export interface Chosen {
  files: ChosenFile[]
  emptyFolders: string[]
  /** Places of files and folders that the browser could not read, such as one without the right to. */
  unread: string[]
  /** More were there than are taken at a time. */
  isCut: boolean
}

/** As many as a browser draws and a machine takes in some minutes. */
const CHOSEN_FILES_MAX = 10_000

/** Files of a file dialog; those of a folder have their places. */
export function chosenFrom(files: Iterable<File>): Chosen {
  const all = [...files]
  return {
    files: all
      .slice(0, CHOSEN_FILES_MAX)
      .map(file => ({ file, place: file.webkitRelativePath || file.name })),
    emptyFolders: [],
    unread: [],
    isCut: all.length > CHOSEN_FILES_MAX,
  }
}

/** Files and folders that were dropped. Must be called before the drop is over, since then nothing is told of it any more. */
export function droppedFrom(data: DataTransfer): Promise<Chosen> {
  const entries = [...data.items].flatMap(item =>
    item.kind === 'file' ? (item.webkitGetAsEntry?.() ?? []) : [],
  )
  // A browser that knows no folders gives files alone.
  return entries.length > 0 ? walk(entries) : Promise.resolve(chosenFrom(data.files))
}

async function walk(entries: FileSystemEntry[]): Promise<Chosen> {
  const chosen: Chosen = { files: [], emptyFolders: [], unread: [], isCut: false }
  const waiting = [...entries]
  for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
    const place = entry.fullPath.replace(/^\/+/, '')
    if (chosen.files.length >= CHOSEN_FILES_MAX) {
      chosen.isCut = true
      break
    }
    // What cannot be read keeps nothing else back.
    try {
      if (isFile(entry)) chosen.files.push({ file: await fileOf(entry), place })
      else if (isFolder(entry)) {
        const held = await entriesOf(entry)
        if (held.length === 0) chosen.emptyFolders.push(place)
        waiting.push(...held)
      }
    } catch {
      chosen.unread.push(place)
    }
  }
  return chosen
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject))
}

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  // A browser gives some hundred at a time, and none at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0 || all.length > CHOSEN_FILES_MAX) return all
    all.push(...some)
  }
}
