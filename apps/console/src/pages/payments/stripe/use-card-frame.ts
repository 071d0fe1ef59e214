import { type RefObject, useRef, useState } from 'react'
import { HOSTED_SOURCE, type PayPlatform } from '../pay-platform.ts'

/** A frame of a platform's own in which a card is entered. */
export interface CardFrame {
  /** What the platform calls the card that was entered. @throws ApiError where it is incomplete, or refused at once. */
  name: () => Promise<string>
}

/** Where a new card is entered, other than in a field of ours. */
export interface CardPlace {
  /** What the frame is opened by; null where the card is entered at the platform's page. */
  frameKey: string | null
  frame: RefObject<CardFrame | null>
  /** Whether there is to be a frame, and cannot be. */
  hasFailed: boolean
  onFailed: () => void
  /** What is charged: the card of the frame, or what stands for the platform's page. @throws ApiError as `name`. */
  sourceOf: () => Promise<string>
}

/** Uses the frame of a platform that has one; where that cannot be shown, the card is entered at its page. */
export function useCardFrame({ publishable_key: key }: Pick<PayPlatform, 'publishable_key'>): CardPlace {
  const frame = useRef<CardFrame>(null)
  const [hasFailed, setFailed] = useState(false)
  const frameKey = hasFailed ? null : key
  return {
    frameKey,
    frame,
    hasFailed,
    onFailed: () => setFailed(true),
    sourceOf: async () => (frameKey === null ? HOSTED_SOURCE : ((await frame.current?.name()) ?? '')),
  }
}
