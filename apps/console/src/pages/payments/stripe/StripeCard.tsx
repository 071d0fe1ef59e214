import { useComputedColorScheme } from '@mantine/core'
import type { Appearance, Stripe, StripeElements } from '@stripe/stripe-js'
import { loadStripe } from '@stripe/stripe-js/pure'
import { type RefObject, useEffect, useEffectEvent, useImperativeHandle, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../../api/api-error.ts'
import { currentLanguage } from '../../../app/i18n.ts'
import { SkeletonRows } from '../../../ui/SkeletonRows.tsx'
import type { CardFrame } from './use-card-frame.ts'

interface StripeCardProps {
  publishableKey: string
  /** What is going to be paid, in cents; Stripe shows and checks the card by it. Null: it is only kept. */
  cents: number | null
  currency: string
  /** Whether the card is to be kept once it is paid: the bank may then ask otherwise. */
  saves: boolean
  /** Gets what gives the name of the card that was entered. */
  frame: RefObject<CardFrame | null>
  /** It cannot be shown: the script was blocked, or Stripe does not answer. */
  onFailed: () => void
}

/**
 * Where a card is entered in a frame of Stripe's: what is typed there goes from the browser to Stripe, and comes back as a
 * name that only the account's own gateway can charge. The script is loaded once this is drawn, and never before.
 */
export function StripeCard({ publishableKey, cents, currency, saves, frame, onFailed }: StripeCardProps) {
  const { t } = useTranslation(['payments', 'errors'])
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<{ stripe: Stripe; elements: StripeElements } | null>(null)
  const [isReady, setReady] = useState(false)
  const scheme = useComputedColorScheme()
  const setupFutureUsage = saves ? ('off_session' as const) : null
  const wanted = cents === null ? { mode: 'setup' as const } : { mode: 'payment' as const, amount: cents }
  const failed = useEffectEvent(onFailed)
  const draw = useEffectEvent((stripe: Stripe, into: HTMLElement) => {
    const elements = stripe.elements({
      ...wanted,
      currency: currency.toLowerCase(),
      setupFutureUsage,
      // The gateway charges it: nothing is confirmed here, and what became of it is asked from the gateway alone.
      paymentMethodCreation: 'manual',
      allowedPaymentMethodTypes: ['card'],
      appearance: appearanceOf(scheme),
    })
    const element = elements.create('payment', { wallets: { applePay: 'never', googlePay: 'never' } })
    element.on('ready', () => setReady(true))
    element.on('loaderror', () => failed())
    element.mount(into)
    drawn.current = { stripe, elements }
    return () => element.destroy()
  })
  useEffect(() => {
    let isGone = false
    let remove = () => {}
    loadStripe(publishableKey, { locale: currentLanguage() }).then(
      stripe => {
        if (isGone || !place.current) return
        if (stripe) remove = draw(stripe, place.current)
        else failed()
      },
      () => isGone || failed(),
    )
    return () => {
      isGone = true
      drawn.current = null
      remove()
    }
  }, [publishableKey])
  useEffect(() => {
    if (cents !== null) void drawn.current?.elements.update({ amount: cents, setupFutureUsage })
  }, [cents, setupFutureUsage])
  useEffect(() => {
    void drawn.current?.elements.update({ appearance: appearanceOf(scheme) })
  }, [scheme])
  useImperativeHandle(frame, () => ({
    async name() {
      const refused = (message = t('errors:payment_failed')) =>
        new ApiError({ code: 'payment_failed', message, status: 0, operation: 'stripe.card' })
      if (!drawn.current) throw refused()
      const { stripe, elements } = drawn.current
      const { error: incomplete } = await elements.submit()
      if (incomplete) throw refused(incomplete.message)
      const { error, paymentMethod } = await stripe.createPaymentMethod({ elements })
      if (error) throw refused(error.message)
      return paymentMethod.id
    },
  }))
  return (
    <section aria-label={t('topup.frame.label')} aria-busy={!isReady}>
      {!isReady && <SkeletonRows rows={2} />}
      <div ref={place} />
    </section>
  )
}

/** How Stripe's frame looks: as our own fields, from the tokens of the theme that is shown. */
function appearanceOf(scheme: 'light' | 'dark'): Appearance {
  const style = getComputedStyle(document.documentElement)
  const token = (name: string) => style.getPropertyValue(name).trim()
  return {
    theme: scheme === 'dark' ? 'night' : 'stripe',
    disableAnimations: true,
    variables: {
      colorPrimary: token('--accent'),
      colorBackground: token('--control-surface'),
      colorText: token('--text'),
      colorTextSecondary: token('--dim'),
      colorTextPlaceholder: token('--faint'),
      colorDanger: token('--bad'),
      // A font of ours cannot be loaded there.
      fontFamily: 'system-ui, sans-serif',
      fontSizeBase: '14px',
      spacingUnit: '4px',
      borderRadius: '7px',
    },
    rules: {
      '.Input': { border: `1px solid ${token('--line-strong')}`, boxShadow: 'none' },
      '.Input:focus': { borderColor: token('--accent'), boxShadow: 'none' },
      '.Label': { color: token('--text'), fontWeight: '500' },
    },
  }
}
