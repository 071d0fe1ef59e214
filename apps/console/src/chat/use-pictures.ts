import { chat } from '@berth/contract/models'
import { hasFewPixels, pictureHeadBytes, pictureSize } from '@berth/contract/picture-size'
import { useEffect, useRef, useState } from 'react'
import { faultOfFile, fitTogether, type PictureFault, type PictureLimits } from './picture-check.ts'
import type { Picture, Turn } from './turns.ts'

/** A picture of the message that is written: being read, read, or why it is not sent. */
export type Attached = Pick<Picture, 'id' | 'name' | 'type' | 'size'> &
  (
    | { state: 'reading'; percent: number }
    | { state: 'ready'; address: string }
    | { state: 'refused'; fault: PictureFault }
  )

/**
 * The pictures of the message that is written. Each says whether it is sent; what is refused stays until it is removed, so
 * that nobody believes that it was.
 * @param limits Of the model that is asked.
 * @param turns What was said before, whose pictures are sent again.
 */
export function usePictures(limits: PictureLimits, turns: readonly Turn[]) {
  const [attached, setAttached] = useState<readonly Attached[]>([])
  const readers = useRef(new Map<string, FileReader>())
  const made = useRef(0)
  useEffect(() => {
    const all = readers.current
    return () => {
      for (const reader of all.values()) reader.abort()
    }
  }, [])
  const change = (id: string, next: (before: Attached) => Attached) =>
    setAttached(before => before.map(one => (one.id === id ? next(one) : one)))

  function read(file: File, id: string): void {
    const reader = new FileReader()
    readers.current.set(id, reader)
    const base = { id, name: file.name, type: file.type, size: file.size }
    reader.onprogress = ({ loaded, total }) =>
      change(id, () => ({ ...base, state: 'reading', percent: Math.floor((100 * loaded) / total) }))
    reader.onerror = () => change(id, () => ({ ...base, state: 'refused', fault: 'not_picture' }))
    reader.onload = async () => {
      const address = String(reader.result)
      const fault = await faultOfContent(file, address)
      readers.current.delete(id)
      change(id, () =>
        fault === null ? { ...base, state: 'ready', address } : { ...base, state: 'refused', fault },
      )
    }
    reader.readAsDataURL(file)
  }

  return {
    attached,
    /** Those that are sent. */
    ready: attached.flatMap(({ ...one }) => (one.state === 'ready' ? [one as Picture] : [])),
    isReading: attached.some(({ state }) => state === 'reading'),

    /** Attaches files. */
    add(files: readonly File[]): void {
      const earlier = turns.flatMap(({ prompt }) => prompt.pictures.map(({ size }) => size))
      const sizes = [...earlier, ...sent(attached).map(({ size }) => size)]
      let count = sent(attached).length
      const added = files.map((file): Attached => {
        const id = String(++made.current)
        const base = { id, name: file.name, type: file.type, size: file.size }
        const fault =
          faultOfFile(file, limits, count) ??
          (fitTogether([...sizes, file.size], chat.bodyBytesMax) ? null : 'not_room')
        if (fault !== null) return { ...base, state: 'refused', fault }
        count += 1
        sizes.push(file.size)
        read(file, id)
        return { ...base, state: 'reading', percent: 0 }
      })
      setAttached(before => [...before, ...added])
    },

    remove(id: string): void {
      readers.current.get(id)?.abort()
      readers.current.delete(id)
      setAttached(before => before.filter(one => one.id !== id))
    },

    clear: () => setAttached([]),
  }
}

const sent = (attached: readonly Attached[]) => attached.filter(({ state }) => state !== 'refused')

/** What is wrong with a picture by its content. What has too many pixels is not drawn. */
async function faultOfContent(file: File, address: string): Promise<PictureFault | null> {
  const head = await file.slice(0, pictureHeadBytes(file.type)).arrayBuffer()
  const size = pictureSize(file.type, new Uint8Array(head))
  if (size !== null && !hasFewPixels(size)) return 'not_pixels'
  if (!(await canBeDrawn(address))) return 'not_picture'
  return size === null ? 'not_pixels' : null
}

/** Whether a browser reads a picture from it: what a file is called says nothing. */
function canBeDrawn(address: string): Promise<boolean> {
  return new Promise<boolean>(tell => {
    const image = new Image()
    image.onload = () => tell(true)
    image.onerror = () => tell(false)
    image.src = address
  })
}
