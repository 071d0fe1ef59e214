import type { FieldRule } from '@berth/contract/errors'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from './api-error.ts'

interface UploadOptions<Taken> {
  /** The rule that a file breaks before it is sent; null where the gateway is to say. */
  faultOf: (file: File) => Promise<FieldRule | null>
  /** Sends it with `silent` set: why it is refused is said here. */
  send: (file: File, signal: AbortSignal) => Promise<Taken>
  /** Given what the gateway keeps of it. */
  onTaken: (taken: Taken) => void
  /** Told whether one is on its way. */
  onSending?: (isSending: boolean) => void
}

/** Sends files for a field, the newest alone: one that is chosen meanwhile takes the place of the one before. */
export function useUpload<Taken>(options: UploadOptions<Taken>) {
  const { t } = useTranslation('errors')
  const underWay = useRef<AbortController | null>(null)
  const [sending, setSending] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const latest = useRef(options)
  useEffect(() => {
    latest.current = options
  })
  useEffect(() => () => underWay.current?.abort(), [])

  async function send(file: File, signal: AbortSignal): Promise<void> {
    const fault = await latest.current.faultOf(file)
    if (signal.aborted) return
    if (fault !== null) return setProblem(t(`rules.${fault}`))
    const taken = await latest.current.send(file, signal)
    if (!signal.aborted) latest.current.onTaken(taken)
  }

  async function take(file: File): Promise<void> {
    underWay.current?.abort()
    const own = new AbortController()
    underWay.current = own
    setProblem(null)
    setSending(file.name)
    latest.current.onSending?.(true)
    try {
      await send(file, own.signal)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (!own.signal.aborted) setProblem(error.fields[0]?.msg ?? error.message)
    } finally {
      if (!own.signal.aborted) {
        setSending(null)
        latest.current.onSending?.(false)
      }
    }
  }

  return {
    /** Looks at a file, and sends it where nothing is wrong with it. */
    take: (file: File): void => void take(file),
    /** What it is called that is on its way; null: nothing is. */
    sending,
    /** Why the last one was not taken, in words; null otherwise. */
    problem,
    /** Nothing is said any more of one that was not taken. */
    forget: () => setProblem(null),
  }
}
