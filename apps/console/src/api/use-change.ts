import type { CallData, CallInput, ChangingCall } from '@berth/contract/call'
import { useCallback, useState } from 'react'
import { ApiError } from './api-error.ts'
import { type ChangeOptions, sendChange } from './change.ts'

export interface Change<C extends ChangingCall> {
  /** See `sendChange`. The same function at every drawing. */
  send: (input: CallInput<C>) => Promise<CallData<C>>
  /** While it is under way, and while what it made old is read again. */
  busy: boolean
}

/**
 * A call that changes something, for a button or a form: `const stop = useChange(stopInstance)`. It is the one way in
 * which components change anything: it knows whether it is under way, says why it failed, and reads again what it made
 * old.
 * @param call The call; what it makes old stands on it.
 * @param options See ChangeOptions. Forms set `silent`: `useContractForm` shows a failure at its fields.
 */
export function useChange<C extends ChangingCall>(
  call: C,
  options: Omit<ChangeOptions, 'signal'> = {},
): Change<C> {
  const { silent = false, behind = false } = options
  const [running, setRunning] = useState(0)
  const send = useCallback(
    async (input: CallInput<C>) => {
      setRunning(count => count + 1)
      try {
        return await sendChange(call, input, { silent, behind })
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
