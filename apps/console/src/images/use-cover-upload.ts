import { type ImageCover, uploadCover } from '@berth/contract/own-images'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../api/api-error.ts'
import { sendChange } from '../api/change.ts'
import { faultOfCover } from './check-cover.ts'

/**
 * Sends pictures for a cover, the newest alone: one that is chosen meanwhile takes the place of the one before.
 * @param onTaken Given what the gateway keeps of it.
 * @param onSending Told whether one is on its way.
 */
export function useCoverUpload(
  onTaken: (cover: ImageCover) => void,
  onSending: (isSending: boolean) => void,
) {
  const { t } = useTranslation('errors')
  const underWay = useRef<AbortController | null>(null)
  const [sending, setSending] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => () => underWay.current?.abort(), [])

  async function send(file: File, signal: AbortSignal): Promise<void> {
    const fault = await faultOfCover(file)
    if (signal.aborted) return
    if (fault !== null) return setProblem(t(`rules.${fault}`))
    const cover = await sendChange(uploadCover, {}, { bytes: file, signal, silent: true })
    if (!signal.aborted) onTaken(cover)
  }

  async function take(file: File): Promise<void> {
    underWay.current?.abort()
    const own = new AbortController()
    underWay.current = own
    setProblem(null)
    setSending(file.name)
    onSending(true)
    try {
      await send(file, own.signal)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (!own.signal.aborted) setProblem(error.fields[0]?.msg ?? error.message)
    } finally {
      if (!own.signal.aborted) {
        setSending(null)
        onSending(false)
      }
    }
  }

  return {
    /** Looks at a picture, and sends it where nothing is wrong with it. */
    take: (file: File): void => void take(file),
    /** What it is called that is on its way; null: nothing is. */
    sending,
    /** Why the last one was not taken, in words; null otherwise. */
    problem,
    /** Nothing is said any more of one that was not taken. */
    forget: () => setProblem(null),
  }
}
