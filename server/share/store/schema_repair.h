// What is missing of the store's tables, and how it is made anew: a table that somebody dropped, a
// column, a privilege of the servers' role.
//
// What was in it is lost, and every default is on the safe side: a target whose ownership is lost
// keeps an owner that nobody is, until a lease has passed, and generations go on counting, so that
// whoever takes it over starts with full buckets.
//
// Functions throw as libpqxx does.
#pragma once

#include <pqxx/transaction_base>
#include <string>
#include <vector>

namespace headgate::store {

// Tables and columns, such as "table headgate_store.state" or "column headgate_store.state.bytes".
// None of a schema that is not there at all.
std::vector<std::string> MissingParts(pqxx::transaction_base& work);

// What the present role may not do, of what a server does, such as "UPDATE on
// headgate_store.member"; empty: it may do all. Of tables that are there.
std::vector<std::string> MissingPrivileges(pqxx::transaction_base& work);

// Those of the missing columns with which what operators have ordered is lost. No program makes
// them anew: it would run what somebody has paused.
std::vector<std::string> MissingOrders(pqxx::transaction_base& work);

// Makes what is missing, but MissingOrders, in tables of this Headgate's version, and grants to
// each role that may write some of the tables what it may not do of all, if they are its own. What
// was done: parts, and "UPDATE on headgate_store.member to headgate".
std::vector<std::string> Repair(pqxx::transaction_base& work);

}  // namespace headgate::store
