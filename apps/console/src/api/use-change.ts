import type { CallData, CallInput, ChangingCall } from '@berth/contract/call'
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from './api-error.ts'
import { reportUnseen } from './cache-lifecycle.ts'
import { type ChangeOptions, sendChange } from './change.ts'

export interface Change<C extends ChangingCall> {
  /** See `sendChange`. The same function at every drawing. */
  send: (input: CallInput<C>) => Promise<CallData<C>>
  /** While it is under way, and while what it made old is read again. */
  busy: boolean
}

/** What a call that spends says besides. */
interface SpendOptions<C extends ChangingCall> {
  /**
   * Tells what came of it once the component that sent it is gone: its page was left, its dialog closed. What is bought
   * is bought all the same, and whoever bought it hears of it wherever they are. What follows `send` is not carried out
   * then.
   */
  whenGone: (data: CallData<C>, input: CallInput<C>) => void
}

type UseChangeOptions<C extends ChangingCall> = Omit<ChangeOptions, 'signal'> &
  (C['spends'] extends false ? Partial<SpendOptions<C>> : SpendOptions<C>)

/**
 * A call that changes something, for a button or a form: `const stop = useChange(stopInstance)`. It is the one way in
 * which components change anything: it knows whether it is under way, says why it failed, and reads again what it made
 * old.
 * @param call The call; what it makes old stands on it.
 * @param options See ChangeOptions; a call that spends also says `whenGone`. Forms set `silent`: `useContractForm` shows
 *   a failure at its fields, and where the form is gone by then it is toasted.
 */
export function useChange<C extends ChangingCall>(
  call: C,
  ...[options]: object extends UseChangeOptions<C> ? [UseChangeOptions<C>?] : [UseChangeOptions<C>]
): Change<C> {
  const { silent = false, behind = false, whenGone } = options ?? ({} as UseChangeOptions<C>)
  const [running, setRunning] = useState(0)
  const isGone = useRef(false)
  const tell = useRef(whenGone)
  useEffect(() => {
    tell.current = whenGone
  })
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  const send = useCallback(
    async (input: CallInput<C>) => {
      setRunning(count => count + 1)
      try {
        const data = await sendChange(call, input, { silent, behind })
        if (!isGone.current || !tell.current) return data
        tell.current(data, input)
        // Nobody waits for it any more: what a page does after it would be done to another page.
        return await new Promise<never>(() => undefined)
      } catch (error) {
        if (isGone.current && silent && error instanceof ApiError) reportUnseen(error)
        throw error
      } finally {
        setRunning(count => count - 1)
      }
    },
    [call, silent, behind],
  )
  return { send, busy: running > 0 }
}

/**
 * For the end of a change that nothing else catches: `void end().catch(told)`. Its failure is on the screen already.
 * @throws Whatever is no failure of a call.
 */
export function told(error: unknown): void {
  if (!(error instanceof ApiError)) throw error
}
