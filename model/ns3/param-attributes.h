/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_PARAM_ATTRIBUTES_H
#define RNICSIM_NS3_PARAM_ATTRIBUTES_H

#include "../sim/param.h"

#include "ns3/type-id.h"

namespace ns3
{

class ObjectBase;

/** From an object to its parameter struct. */
typedef void* (*ParamsOf)(ObjectBase* object);

/**
 * Give a TypeId one attribute per row of a parameter table: name in CamelCase without the unit (`mtu_bytes` is Mtu), meaning and
 * source as help, the row's default and range. Times are Time, rates DataRate, words Enum, the rest Boolean, Uinteger or Double.
 * Time `never` is any Time of 1000000s or more.
 */
TypeId AddParamAttributes(TypeId tid, const struct param_table* table, ParamsOf paramsOf);

/** The attribute's name of a row. */
std::string ParamAttributeName(const struct param* row);

/** A row's value as text for its attribute. */
std::string ParamAttributeText(const struct param* row, double value);

} // namespace ns3

#endif
