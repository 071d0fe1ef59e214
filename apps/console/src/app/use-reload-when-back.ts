import { useEffect } from 'react'
import { connection, whenBack } from '../api/connection.ts'

/** For what stands in the place of a page that could not be loaded: it is, once the gateway can be reached again. */
export function useReloadWhenBack(): void {
  useEffect(() => {
    // What was lost is no call, so nobody has asked yet whether the gateway is there.
    connection.suspect()
    return whenBack(() => location.reload())
  }, [])
}
