import type { CallStatus, LoggedCall } from '@berth/contract/session-log'
import { ActionIcon } from '@mantine/core'
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'

/** Total over the statuses: a new one does not compile until it has a look. */
const LOOKS: Record<CallStatus, StatusLook> = {
  running: { shape: 'spinner', tone: 'info' },
  done: { shape: 'dot', tone: 'good' },
  left: { shape: 'ring', tone: 'quiet' },
  failed: { shape: 'cross', tone: 'bad' },
  lost: { shape: 'dash', tone: 'warning' },
}
/** Longer times are said in seconds. */
const MS_SAID_BELOW = 1_000

/** Which call is opened to what it asked and was answered, and how another one is. */
export interface OpenedCall {
  /** Null for none. */
  callId: string | null
  /** The id of the part of the page that it is opened to. */
  openedId: string
  toggle: (callId: string) => void
}

/** The columns of the log of calls. @param currency What costs are in. */
export function useLogColumns(
  currency: string,
  { callId, openedId, toggle }: OpenedCall,
): Column<LoggedCall>[] {
  const { t } = useTranslation('session-logs')
  const format = useFormat()
  return useMemo(() => {
    const timeOf = (ms: number) =>
      ms < MS_SAID_BELOW
        ? t('ms', { value: format.number(ms) })
        : t('s', { value: format.number(Math.round(ms / 100) / 10) })
    return [
      {
        key: 'started',
        narrow: 'under',
        header: t('started'),
        width: '16rem',
        cell: row => (
          <time className="tabular" dateTime={row.started_at} title={format.date(row.started_at)}>
            {format.moment(row.started_at)}
          </time>
        ),
      },
      {
        key: 'model',
        narrow: 'name',
        header: t('model'),
        cell: row => (
          <TwoLines
            strong
            first={row.model_name}
            second={row.source === 'console' ? t('by_console') : (row.key_name ?? t('gone_key'))}
          />
        ),
      },
      {
        key: 'status',
        narrow: 'last',
        header: t('status'),
        width: '24rem',
        cell: row => {
          const why = row.status === 'lost' ? 'lost' : row.error_code
          const reason = why === null ? undefined : t(`errors.${why}`)
          return <StatusBadge look={LOOKS[row.status]} label={t(`statuses.${row.status}`)} reason={reason} />
        },
      },
      {
        key: 'time',
        narrow: null,
        header: t('latency'),
        width: '18rem',
        cell: row =>
          row.latency_ms !== null && (
            <TwoLines
              first={<span className="tabular">{timeOf(row.latency_ms)}</span>}
              second={
                row.streamed && row.first_token_ms !== null
                  ? t('first_token', { time: timeOf(row.first_token_ms) })
                  : undefined
              }
            />
          ),
      },
      {
        key: 'tokens',
        narrow: null,
        header: t('used'),
        width: '18rem',
        cell: row => {
          if (row.images > 0) return t('pictures', { count: row.images })
          if (row.video_seconds > 0) return t('seconds_of_video', { count: row.video_seconds })
          const value = format.number(row.input_tokens)
          const cached = format.number(row.cached_tokens)
          return (
            <TwoLines
              first={row.cached_tokens > 0 ? t('in_cached', { value, cached }) : t('in', { value })}
              second={
                <>
                  {t('out', { value: format.number(row.output_tokens) })}
                  {row.estimated && (
                    <>
                      {' · '}
                      <span title={t('estimated_why')}>{t('estimated')}</span>
                    </>
                  )}
                </>
              }
            />
          )
        },
      },
      {
        key: 'cost',
        narrow: 'end',
        header: t('cost'),
        align: 'end',
        width: '12rem',
        cell: row =>
          row.status === 'running' ? null : (
            <span className="tabular">
              {row.cost_micro === '0' ? t('free') : format.exactMoney(row.cost_micro, currency)}
            </span>
          ),
      },
      {
        key: 'open',
        narrow: 'actions',
        header: '',
        said: t('body.open'),
        width: '4.8rem',
        cell: row => {
          if (!row.kept) return null
          const isOpened = row.id === callId
          return (
            <ActionIcon
              color="gray"
              aria-label={t('body.open_of', { model: row.model_name })}
              aria-expanded={isOpened}
              aria-controls={isOpened ? openedId : undefined}
              onClick={() => toggle(row.id)}
            >
              {isOpened ? <IconChevronUp size={16} /> : <IconChevronDown size={16} />}
            </ActionIcon>
          )
        },
      },
    ]
  }, [t, format, currency, callId, openedId, toggle])
}
