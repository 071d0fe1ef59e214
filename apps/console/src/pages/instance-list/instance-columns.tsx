import type { Instance } from '@berth/contract/instances'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../app/session/use-off-for.ts'
import {
  CALLS_BEHIND,
  needsVerified,
  primaryAction,
  type RowAction,
} from '../../instances/instance-actions.ts'
import { useInstanceMenu } from '../../instances/instance-menu.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import { SimulatedTag, useSimulatedWords } from '../../instances/SimulatedTag.tsx'
import { RowActions } from '../../lists/RowActions.tsx'
import { RowLink } from '../../lists/RowLink.tsx'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../../ui/StatusBadge.tsx'
import classes from './instance-columns.module.css'

interface CutProps {
  text: string
  /** Its first part, left out where the row is narrow. */
  before?: string | undefined
  /** Nothing is cut where the row is narrow: there is no pointer there to ask for the rest. */
  whole?: boolean
}

/** A text of one line, cut where its column ends; the whole of it is in its tooltip. */
function Cut({ text, before = '', whole = false }: CutProps) {
  return (
    <span className={classes.cut} title={before + text} data-whole={whole || undefined}>
      {before && <span className={classes.wide}>{before}</span>}
      {text}
    </span>
  )
}

/**
 * The columns of the instance list: what it is, how it does, what it costs, what can be done with it.
 * @param onAsk Asks for an action; its dialog opens.
 */
export function useInstanceColumns(
  onAsk: (action: RowAction, instance: Instance) => void,
): readonly Column<Instance>[] {
  const { t } = useTranslation(['instances', 'common'])
  const texts = useInstanceTexts()
  const menuOf = useInstanceMenu()
  const simulated = useSimulatedWords()
  const unverified = useOffFor({ audience: 'verified' })
  return useMemo(
    () => [
      {
        key: 'instance',
        narrow: 'name',
        header: t('columns.instance'),
        width: '18%',
        cell: ({ name, instance_id }) => (
          <TwoLines
            strong
            mono
            first={
              <RowLink to="/instance" search={{ id: instance_id }} className={classes.name}>
                <Cut text={name} />
              </RowLink>
            }
            second={instance_id}
          />
        ),
      },
      {
        key: 'status',
        narrow: 'under',
        header: t('columns.status'),
        width: '20%',
        cell: instance => (
          <StatusBadge
            look={INSTANCE_STATUS_LOOKS[instance.status]}
            label={t(`common:status.${instance.status}`)}
            reason={<Cut whole text={texts.underStatus(instance)} />}
          />
        ),
      },
      {
        key: 'gpu',
        narrow: null,
        header: t('columns.gpu'),
        cell: instance => (
          <TwoLines
            first={
              <>
                {texts.machine(instance)}
                {instance.simulated && <SimulatedTag words={simulated} />}
              </>
            }
            second={<Cut text={texts.underMachine(instance)} />}
          />
        ),
      },
      {
        key: 'image',
        narrow: null,
        header: t('columns.image'),
        wideOnly: true,
        cell: ({ image_name, region_name, eip }) => (
          <TwoLines
            first={<Cut text={image_name} />}
            second={
              eip?.type === 'dedicated' ? <Cut text={`${region_name} · ${eip.address}`} /> : region_name
            }
          />
        ),
      },
      {
        key: 'cost',
        narrow: 'end',
        header: t('columns.cost'),
        width: '16%',
        align: 'end',
        cell: instance => {
          const { first, up, second } = texts.cost(instance)
          return <TwoLines first={first} second={<Cut before={up && `${up} · `} text={second} />} />
        },
      },
      {
        key: 'actions',
        narrow: 'actions',
        header: '',
        said: t('columns.actions'),
        align: 'end',
        width: '15rem',
        cell: instance => {
          const { instance_id, name } = instance
          const primary = primaryAction(instance)
          const label = texts.action(primary)
          return (
            <RowActions
              rowKey={instance_id}
              primary={{
                action: primary,
                label,
                said: t('common:row.action', { action: label, name }),
                call: CALLS_BEHIND[primary],
                off: needsVerified(primary) ? unverified : null,
              }}
              menuLabel={t('common:row.menu', { name })}
              items={() => menuOf(instance)}
              onAsk={action => onAsk(action, instance)}
            />
          )
        },
      },
    ],
    [t, texts, menuOf, simulated, unverified, onAsk],
  )
}
