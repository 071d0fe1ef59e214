import type { Application } from '@berth/contract/account'
import type { ProviderMethod } from '@berth/contract/account-sign-in'
import { Button } from '@mantine/core'
import { IconBrandGithub, IconKey } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../api/api-error.ts'
import { beginProvider } from '../../app/session/provider-visit.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import classes from './ProviderButtons.module.css'

interface ProviderButtonsProps {
  /** As the application lists them; those that cannot be used here are left out. */
  providers: Application['providers']
  method: Exclude<ProviderMethod, 'link'>
  /** Where the terms can be read. */
  termsUrl: string
}

/** One button for each service that one may sign in through, under the form. Without any there is nothing. */
export function ProviderButtons({ providers, method, termsUrl }: ProviderButtonsProps) {
  const { t } = useTranslation(['auth', 'errors'])
  const [busy, setBusy] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  useEffect(() => {
    // Somebody who goes back from the service may find this page as it was left.
    const wake = () => setBusy(null)
    addEventListener('pageshow', wake)
    return () => removeEventListener('pageshow', wake)
  }, [])
  const usable = providers.filter(
    ({ provider, canSignIn, canSignUp }) =>
      provider?.category === 'OAuth' && (method === 'signup' ? canSignUp : canSignIn) !== false,
  )
  if (usable.length === 0) return null

  const go = async (name: string) => {
    setBusy(name)
    setFailure(null)
    const wanted = new URLSearchParams(location.search).get('redirect') ?? ''
    try {
      await beginProvider(name, method, wanted)
    } catch (error) {
      setBusy(null)
      setFailure(error instanceof ApiError ? error.message : t('errors:oauth_failed'))
    }
  }

  return (
    <div className={classes.ways}>
      <div className={classes.or}>{t('provider.or')}</div>
      <FormFailure message={failure} />
      {usable.map(({ name, provider }) => (
        <Button
          key={name}
          variant="default"
          size="lg"
          fullWidth
          loading={busy === name}
          disabled={busy !== null && busy !== name}
          leftSection={<ProviderIcon type={provider?.type ?? ''} />}
          onClick={() => void go(name)}
        >
          {t('provider.continue', { name: provider?.displayName ?? name })}
        </Button>
      ))}
      {method === 'signup' && (
        <p className={classes.note}>
          {t('provider.terms')}{' '}
          <a href={termsUrl} target="_blank" rel="noreferrer">
            {t('terms_link')}
          </a>
        </p>
      )}
    </div>
  )
}

function ProviderIcon({ type }: { type: string }) {
  const Icon = type === 'GitHub' ? IconBrandGithub : IconKey
  return <Icon size={16} stroke={1.6} aria-hidden="true" />
}
