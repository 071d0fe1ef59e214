import type { ServerResponse } from 'node:http'

/**
 * Tells when whoever asked has left.
 * @param response What they are answered by.
 * @returns Aborts once its connection is closed before the answer was sent, or has been already.
 */
export function leavingSignal(response: ServerResponse): AbortSignal {
  const leaving = new AbortController()
  const leave = () => {
    if (!response.writableFinished) leaving.abort(new Error('whoever asked has left'))
  }
  if (response.closed || response.destroyed) leave()
  else response.once('close', leave)
  return leaving.signal
}
