import type { Instance } from '@berth/contract/instances'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { RowActions } from '../../lists/RowActions.tsx'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../../ui/StatusBadge.tsx'
import { needsVerified, primaryAction, type RowAction } from './instance-actions.ts'
import classes from './instance-columns.module.css'
import { useInstanceMenu } from './instance-menu.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { SimulatedTag } from './SimulatedTag.tsx'

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
  return useMemo(
    () => [
      {
        key: 'instance',
        header: t('columns.instance'),
        cell: ({ name, instance_id }) => (
          <TwoLines
            strong
            mono
            first={<span className={classes.name}>{name}</span>}
            second={<span className={classes.whole}>{instance_id}</span>}
          />
        ),
      },
      {
        key: 'status',
        header: t('columns.status'),
        cell: instance => (
          <span className={classes.status}>
            <StatusBadge
              look={INSTANCE_STATUS_LOOKS[instance.status]}
              label={t(`common:status.${instance.status}`)}
              reason={texts.underStatus(instance)}
            />
          </span>
        ),
      },
      {
        key: 'gpu',
        header: t('columns.gpu'),
        cell: instance => (
          <TwoLines
            first={
              <span className={classes.whole}>
                {texts.machine(instance)}
                {instance.simulated && <SimulatedTag />}
              </span>
            }
            second={<span className={classes.whole}>{texts.underMachine(instance)}</span>}
          />
        ),
      },
      {
        key: 'image',
        header: t('columns.image'),
        wideOnly: true,
        cell: ({ image_name, region_name }) => <TwoLines first={image_name} second={region_name} />,
      },
      {
        key: 'cost',
        header: t('columns.cost'),
        align: 'end',
        cell: instance => {
          const { first, second } = texts.cost(instance)
          return <TwoLines first={first} second={<span className={classes.whole}>{second}</span>} />
        },
      },
      {
        key: 'actions',
        header: '',
        said: t('columns.actions'),
        align: 'end',
        width: '1%',
        cell: instance => {
          const primary = primaryAction(instance)
          return (
            <RowActions
              rowKey={instance.instance_id}
              name={instance.name}
              primary={{
                action: primary,
                label: texts.action(primary),
                needsVerified: needsVerified(primary),
              }}
              items={() => menuOf(instance)}
              onAsk={action => onAsk(action, instance)}
            />
          )
        },
      },
    ],
    [t, texts, menuOf, onAsk],
  )
}
