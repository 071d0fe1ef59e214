import { APPLICATION, type Application, getApplication, type User } from '@berth/contract/account'
import { linkProperties, unlink } from '@berth/contract/account-sign-in'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../../api/api-error.ts'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { beginProvider } from '../../../app/session/provider-visit.ts'
import { useSession } from '../../../app/session/session.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { focusBack } from '../../../ui/focus-back.ts'
import { StatusBadge } from '../../../ui/StatusBadge.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './OtherServicesCard.module.css'

const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** Where the other service's page leads back to. */
const RETURN_TO = '/settings?section=sign-in'
const LINKED = { shape: 'dot', tone: 'good' } as const
const NOT_LINKED = { shape: 'ring', tone: 'quiet' } as const

type ListedProvider = Application['providers'][number]

/** The other services that one may sign in through, and which of them open this account. */
export function OtherServicesCard() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  const query = useQuery(queryOf(getApplication, { query: { id: `admin/${APPLICATION}` } }))
  if (!user) return null
  const providers = query.data?.providers.filter(({ provider }) => provider?.category === 'OAuth')
  if (providers?.length === 0) {
    return <SectionCard title={t('services.title')} lead={t('services.none')} />
  }
  return (
    <SectionCard kind="rows" title={t('services.title')} lead={t('services.lead')}>
      <Answer query={query} data={providers} rows={2}>
        {listed => (
          <ul className={classes.rows}>
            {listed.map(provider => (
              <ProviderRow key={provider.name} listed={provider} user={user} />
            ))}
          </ul>
        )}
      </Answer>
    </SectionCard>
  )
}

function ProviderRow({ listed, user }: { listed: ListedProvider; user: User }) {
  const { t } = useTranslation('settings')
  const row = useRef<HTMLLIElement>(null)
  const service = listed.provider?.displayName || listed.name
  const keys = linkProperties(listed)
  const linked = Boolean(user.properties[keys.id])
  const who = user.properties[keys.username] || user.properties[keys.email]
  return (
    <li ref={row} className={classes.row}>
      <div className={classes.words}>
        <span className={classes.name}>{service}</span>
        <StatusBadge
          look={linked ? LINKED : NOT_LINKED}
          label={
            linked
              ? who
                ? t('services.linked_as', { who })
                : t('services.linked')
              : t('services.not_linked')
          }
        />
      </div>
      {linked ? (
        listed.canUnlink !== false && (
          <Unlink
            listed={listed}
            service={service}
            // Once it is unlinked, another button stands in the place of the one that was pressed.
            onClosed={() => focusBack(() => row.current?.querySelector('button'))}
          />
        )
      ) : (
        <Link name={listed.name} service={service} />
      )}
    </li>
  )
}

function Link({ name, service }: { name: string; service: string }) {
  const { t } = useTranslation(['settings', 'errors'])
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    // Somebody who goes back from the service may find this page as it was left.
    const wake = () => setBusy(false)
    addEventListener('pageshow', wake)
    return () => removeEventListener('pageshow', wake)
  }, [])
  const begin = async () => {
    setBusy(true)
    try {
      // The browser leaves for the service's page; the button stays busy until it has.
      await beginProvider(name, 'link', RETURN_TO)
    } catch (error) {
      toast.bad(error instanceof ApiError ? error.message : t('errors:oauth_failed'))
      setBusy(false)
    }
  }
  return (
    <Button
      variant="default"
      loading={busy}
      aria-label={t('services.link_of', { service })}
      onClick={() => void begin()}
    >
      {t('services.link')}
    </Button>
  )
}

/** Unlinks after asking; the only way into an account is refused by the gateway, in words. */
function Unlink({
  listed,
  service,
  onClosed,
}: {
  listed: ListedProvider
  service: string
  onClosed: () => void
}) {
  const { t } = useTranslation('settings')
  const change = useChange(unlink)
  const [asked, setAsked] = useState<'never' | 'open' | 'closed'>('never')
  return (
    <>
      <Button
        variant="default"
        aria-label={t('services.unlink_of', { service })}
        onClick={() => setAsked('open')}
      >
        {t('services.unlink')}
      </Button>
      {asked !== 'never' && (
        <Suspense>
          <ConfirmDialog
            opened={asked === 'open'}
            title={t('services.unlink_title', { service })}
            confirmLabel={t('services.unlink')}
            onConfirm={async () => {
              await change.send({
                body: { providerType: listed.provider?.type ?? listed.name, providerName: listed.name },
              })
              toast.good(t('services.unlinked', { service }))
            }}
            onClose={() => {
              setAsked('closed')
              onClosed()
            }}
          >
            {t('services.unlink_text', { service })}
          </ConfirmDialog>
        </Suspense>
      )}
    </>
  )
}
