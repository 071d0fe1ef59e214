import { endOtherSessions, endSession, listSessions, type OpenSession } from '@berth/contract/account'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useCallback, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { told, useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { List } from '../../../lists/List.tsx'
import { focusBack } from '../../../ui/focus-back.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { StatusBadge } from '../../../ui/StatusBadge.tsx'
import { toast } from '../../../ui/toast.ts'
import { SectionCard } from '../SectionCard.tsx'
import { useDeviceName } from '../use-device-name.ts'
import classes from './SessionsSection.module.css'

const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** A session is looked after once a minute or so; asking more often would show nothing new. */
const REFRESH_MS = 30_000
const NOW_UP_TO_S = 120
const HERE = { shape: 'dot', tone: 'good' } as const

/** Where the account is signed in, and how to end that (B12). */
export function SessionsSection() {
  const { t } = useTranslation('settings')
  const list = useQuery({ ...queryOf(listSessions, {}), refetchInterval: REFRESH_MS })
  const { data } = list
  const others = data?.filter(({ current }) => !current).length ?? 0
  const panel = useRef<HTMLDivElement>(null)
  // The button that was pressed is gone with its row.
  const onEnded = useCallback(() => panel.current?.focus({ preventScroll: true }), [])
  const columns = useColumns(onEnded)
  return (
    <div ref={panel} tabIndex={-1} className={classes.panel}>
      <SectionCard
        kind="rows"
        title={t('sessions.title')}
        lead={data && others === 0 ? t('sessions.only_here') : t('sessions.lead')}
        aside={others > 0 && <EndOthers count={others} onEnded={onEnded} />}
      >
        <List
          label={t('sessions.title')}
          query={list}
          rows={data}
          keyOf={row => row.id}
          columns={columns}
          skeletonRows={2}
          none={{ title: t('sessions.only_here') }}
        />
      </SectionCard>
    </div>
  )
}

function useColumns(onEnded: () => void): Column<OpenSession>[] {
  const { t } = useTranslation('settings')
  const format = useFormat()
  const deviceName = useDeviceName()
  return useMemo(
    () => [
      {
        key: 'device',
        narrow: 'whole',
        header: t('sessions.device'),
        cell: row => (
          <TwoLines
            strong
            first={deviceName(row.userAgent)}
            second={row.current ? <StatusBadge look={HERE} label={t('sessions.here')} /> : undefined}
          />
        ),
      },
      {
        key: 'seen',
        narrow: 'under',
        header: t('sessions.seen'),
        width: '17rem',
        cell: row => (
          <TwoLines
            first={<Ago moment={row.lastSeenTime} now={row.current} />}
            second={format.moment(row.lastSeenTime)}
          />
        ),
      },
      {
        key: 'signed_in',
        narrow: null,
        header: t('sessions.signed_in'),
        width: '17rem',
        cell: row => (
          <TwoLines
            first={format.moment(row.createdTime)}
            second={t('sessions.until', { date: format.date(row.expiresTime) })}
          />
        ),
      },
      {
        key: 'address',
        narrow: null,
        header: t('sessions.address'),
        width: '17rem',
        cell: row => <span className={`${classes.address} mono`}>{row.address}</span>,
      },
      {
        key: 'end',
        narrow: 'actions',
        header: '',
        said: t('sessions.end'),
        align: 'end',
        width: '9rem',
        cell: row => (row.current ? null : <EndOne session={row} onEnded={onEnded} />),
      },
    ],
    [t, format, deviceName, onEnded],
  )
}

/** How long ago, in the units that a person would say it in. */
function Ago({ moment, now }: { moment: string; now: boolean }) {
  const { t } = useTranslation('settings')
  const format = useFormat()
  const seconds = (Date.now() - Date.parse(moment)) / 1_000
  return (
    <>
      {now || seconds < NOW_UP_TO_S ? t('sessions.now') : t('sessions.ago', { span: format.runway(seconds) })}
    </>
  )
}

function EndOne({ session, onEnded }: { session: OpenSession; onEnded: () => void }) {
  const { t } = useTranslation('settings')
  const { send, busy } = useChange(endSession)
  const deviceName = useDeviceName()
  const device = deviceName(session.userAgent)
  const end = async () => {
    await send({ params: { id: session.id } })
    toast.good(t('sessions.ended', { device }))
    onEnded()
  }
  return (
    <Button
      size="xs"
      variant="default"
      loading={busy}
      aria-label={t('sessions.end_of', { device, address: session.address })}
      onClick={() => void end().catch(told)}
    >
      {t('sessions.end')}
    </Button>
  )
}

/** Ends every session but this one, after asking. */
function EndOthers({ count, onEnded }: { count: number; onEnded: () => void }) {
  const { t } = useTranslation('settings')
  const endOthers = useChange(endOtherSessions)
  const [asked, setAsked] = useState<'never' | 'open' | 'closed'>('never')
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <Button ref={button} size="xs" variant="default" onClick={() => setAsked('open')}>
        {t('sessions.end_others')}
      </Button>
      {asked !== 'never' && (
        <Suspense>
          <ConfirmDialog
            danger
            opened={asked === 'open'}
            title={t('sessions.end_others_title')}
            confirmLabel={t('sessions.end_others')}
            onConfirm={async () => {
              const { ended } = await endOthers.send({})
              toast.good(t('sessions.others_ended', { count: ended }))
              onEnded()
            }}
            onClose={() => {
              setAsked('closed')
              focusBack(() => button.current)
            }}
          >
            {t('sessions.end_others_text', { count })}
          </ConfirmDialog>
        </Suspense>
      )}
    </>
  )
}
