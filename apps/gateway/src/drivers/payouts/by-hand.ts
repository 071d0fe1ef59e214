import { type PayoutDriver, PayoutUnavailable } from './port.ts'

/** Money is paid by an operator, from a file; nothing is asked of anybody. */
export function createByHandPayouts(): PayoutDriver {
  const never = async (): Promise<never> => {
    throw new PayoutUnavailable('money is paid by hand here')
  }
  return {
    name: 'by-hand',
    test: true,
    byHand: true,
    keyKeptMs: Number.POSITIVE_INFINITY,
    pay: never,
    read: never,
  }
}
