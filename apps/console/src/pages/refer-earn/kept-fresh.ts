/**
 * How queries of the page are kept: friends top up while it is open, and its figures and its lists are asked for one after
 * the other, so that what is booked between them would stand in one of them only.
 */
export const KEPT_FRESH = { refetchInterval: 20_000, refetchIntervalInBackground: false } as const
