import { ArchiveCut, NotAnArchive, type TarEntry, TarReader } from './tar-reader.ts'

/** One entry of an archive, whose bytes are read before the next one is asked for; what is left of them is passed over. */
export interface TarPart {
  entry: TarEntry
  bytes: AsyncIterable<Buffer>
}

type Happening = { entry: TarEntry } | { piece: Buffer } | { ended: true }

/**
 * Reads an archive from whoever sends it, no faster than its parts are taken: what is held of it is one piece.
 * @param archive As it comes; it is told to end when nobody reads any more.
 * @param overheadBytesMax Of all that is no file's bytes: headers, paddings, long names, what comes behind the end.
 * @throws ArchiveCut where it ends early; NotAnArchive for what is none, or has more overhead; what `archive` throws.
 */
export async function* readTar(
  archive: AsyncIterable<Uint8Array>,
  overheadBytesMax: number,
): AsyncGenerator<TarPart> {
  const source = archive[Symbol.asyncIterator]()
  const happened: Happening[] = []
  let received = 0
  let ofFiles = 0
  const reader = new TarReader(entry => {
    happened.push({ entry })
    return {
      write: piece => {
        ofFiles += piece.length
        happened.push({ piece: piece as Buffer })
      },
      end: () => void happened.push({ ended: true }),
    }
  })

  async function next(): Promise<Happening | null> {
    while (happened.length === 0) {
      const { done, value } = await source.next()
      if (done) {
        reader.end()
        if (!reader.isOver) throw new ArchiveCut('it breaks off')
        return null
      }
      received += value.length
      reader.push(Buffer.from(value.buffer, value.byteOffset, value.length))
      // The piece that came last may be a file's, of which not all was told yet.
      if (received - value.length - ofFiles > overheadBytesMax)
        throw new NotAnArchive('it is hardly more than headers')
    }
    return happened.shift() ?? null
  }

  try {
    for (let event = await next(); event; event = await next()) {
      if (!('entry' in event)) continue
      let isOver = false
      const nextPiece = async () => {
        const part = isOver ? null : await next()
        if (part && 'piece' in part) return part.piece
        isOver = true
        return null
      }
      const bytes = (async function* () {
        for (let piece = await nextPiece(); piece; piece = await nextPiece()) yield piece
      })()
      yield { entry: event.entry, bytes }
      while (await nextPiece());
    }
  } finally {
    await source.return?.()
  }
}
